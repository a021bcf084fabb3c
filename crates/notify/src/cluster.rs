//! Which installation sends a message.

/// Identity of the installation, and the set it is a member of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    /// `id.k8s.io`; empty when it has none.
    pub id: String,
    /// `clusterset.k8s.io`; empty when it is a member of none.
    pub set: String,
}

impl Cluster {
    /// The header fields of mails, without those that have no value.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let fields =
            [("X-Domainscope-Cluster", self.id.as_str()), ("X-Domainscope-Clusterset", self.set.as_str())];
        fields.into_iter().filter(|(_, value)| !value.is_empty())
    }
}
