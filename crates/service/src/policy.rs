//! Who may do what: one table of actions, one function that decides. Every method of [`Backend`](crate::Backend) and
//! [`AccountBackend`](crate::AccountBackend) is an action of the same name, and every implementation asks [`authorize`]
//! first.

mod action;

pub use action::Action;

use crate::{ApiError, ApiResult};
use model::ids::{Caller, Role};

/// What a call does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reads what is stored.
    Read,
    /// Changes what the organisation holds.
    Write,
    /// Concerns the caller's own account alone: people only, no API tokens.
    Own,
    /// Sends questions to servers of other parties, under the limits of look-ups; stores nothing.
    Query,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The method of the same name.
    pub name: &'static str,
    /// The least role that may.
    pub least: Role,
    /// What it does to the world.
    pub effect: Effect,
    /// What a person would say it does: completes "… can't".
    pub does: &'static str,
}

/// Allows an action to a caller, or refuses it.
///
/// # Errors
/// [`Forbidden`](crate::ErrorKind::Forbidden) when the caller's role is too low (the detail names the role that may), or
/// the caller is no person; [`SignInRequired`](crate::ErrorKind::SignInRequired) when the caller is a visitor and the
/// action belongs to no open tool.
pub fn authorize(caller: &Caller, action: Action) -> ApiResult<()> {
    let rule = action.rule();
    if let Some(open) = caller.visitor {
        if action.open_with().iter().any(|tool| open.contains(*tool)) {
            return Ok(());
        }
        return Err(ApiError::sign_in_required(format!("Sign in to {}.", rule.does)));
    }
    if rule.effect == Effect::Own && caller.user.is_none() {
        let words = format!("An API token can't {}: sign in as a person.", rule.does);
        return Err(ApiError::forbidden(words));
    }
    if caller.role >= rule.least {
        return Ok(());
    }
    let (has, needs) = (caller.role.as_str(), rule.least.as_str());
    Err(ApiError::forbidden(format!("The {has} role can't {}: the {needs} role is required.", rule.does)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::OrgId;
    use model::open_tools::OpenTool;
    use std::collections::BTreeSet;

    /// Names of the methods of the trait, from its source.
    fn methods() -> Vec<&'static str> {
        let source = concat!(
            include_str!("backend.rs"),
            include_str!("resources.rs"),
            include_str!("account.rs"),
            include_str!("alerts.rs"),
            include_str!("features.rs"),
            include_str!("fleet.rs")
        );
        source
            .split("async fn ")
            .skip(1)
            .filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())
            .collect()
    }

    #[test]
    fn every_method_of_the_trait_is_an_action() {
        let actions: BTreeSet<_> = Action::ALL.iter().map(|a| a.rule().name).collect();
        assert_eq!(actions, methods().into_iter().collect());
        assert_eq!(actions.len(), Action::ALL.len());
    }

    #[test]
    fn what_changes_or_queries_needs_a_member_and_the_refusal_says_so() {
        let user = Some(model::ids::UserId("ada".into()));
        let caller = |role| Caller { user: user.clone(), ..Caller::new(OrgId::BUILT_IN, "a", role) };
        for action in Action::ALL {
            let rule = action.rule();
            if matches!(rule.effect, Effect::Write | Effect::Query) {
                assert!(rule.least >= Role::Member, "{}", rule.name);
            }
            for role in Role::ALL {
                let allowed = authorize(&caller(role), action);
                assert_eq!(allowed.is_ok(), role >= rule.least, "{} as {}", rule.name, role.as_str());
                if let Err(e) = allowed {
                    assert_eq!(e.status(), 403);
                    assert!(
                        e.detail.contains(role.as_str()) && e.detail.contains(rule.least.as_str()),
                        "{e}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_visitor_may_use_open_tools_and_nothing_else() {
        for tool in OpenTool::ALL {
            let visitor = Caller::visitor([tool].into_iter().collect(), "192.0.2.0/24");
            // Whatever else a caller claims to be, it stays a visitor.
            let claims =
                Caller { role: Role::Owner, user: Some(model::ids::UserId("ada".into())), ..visitor };
            for action in Action::ALL {
                let allowed = authorize(&claims, action);
                assert_eq!(allowed.is_ok(), action.open_with().contains(&tool), "{}", action.rule().name);
                assert!(allowed.err().is_none_or(|e| e.status() == 401));
            }
        }
        let closed = Caller::visitor(model::open_tools::ToolSet::default(), "");
        assert!(Action::ALL.iter().all(|a| authorize(&closed, *a).is_err()));
        // Nothing that writes or reads what is stored can be opened, but the public table of resolvers.
        for action in Action::ALL.into_iter().filter(|a| !a.open_with().is_empty()) {
            assert!(action.rule().effect == Effect::Query || action == Action::BrowserResolvers);
        }
    }

    #[test]
    fn a_token_has_no_account_of_its_own() {
        let token = Caller::new(OrgId::BUILT_IN, "token CI", Role::Owner);
        for action in Action::ALL {
            assert_eq!(authorize(&token, action).is_err(), action.rule().effect == Effect::Own);
        }
    }
}
