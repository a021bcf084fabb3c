//! Navigation from code: by the router, or by a full load where a page has a policy of its own.

#[cfg(feature = "hydrate")]
use leptos::prelude::*;

/// Opens other pages, without a reload where possible. Holds the router's function in the browser only: it belongs to one thread,
/// and the server drops what it rendered on any.
#[derive(Clone, Copy)]
pub(crate) struct Navigator {
    #[cfg(feature = "hydrate")]
    navigate: StoredValue<Navigate, LocalStorage>,
}

#[cfg(feature = "hydrate")]
type Navigate = std::rc::Rc<dyn Fn(&str, leptos_router::NavigateOptions)>;

/// Called while a component is made, inside the router.
pub(crate) fn use_navigator() -> Navigator {
    Navigator {
        #[cfg(feature = "hydrate")]
        navigate: StoredValue::new_local(std::rc::Rc::new(leptos_router::hooks::use_navigate())),
    }
}

impl Navigator {
    /// Opens an address.
    #[cfg_attr(not(feature = "hydrate"), allow(clippy::unused_self, clippy::needless_pass_by_value))]
    pub(crate) fn to(self, url: &str, options: leptos_router::NavigateOptions) {
        #[cfg(feature = "hydrate")]
        if crate::browser_dns::is_asking_page(url) {
            // Its content security policy differs, and a policy belongs to its document.
            let _ = window().location().set_href(url);
        } else {
            self.navigate.get_value()(url, options);
        }
        #[cfg(not(feature = "hydrate"))]
        let _ = (url, options);
    }
}
