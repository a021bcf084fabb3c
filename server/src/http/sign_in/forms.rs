//! The pages in front of the product: each form with its fields, and notices without one.

use super::own_path;
use crate::http::AppState;
use app::{AccessField, AccessPage};
use product::identity::{LinkView, NewPerson};

const FORGOT: &str = "/forgot-password";
pub(super) const BACK: (&str, &str) = ("/sign-in", "Back to sign-in");

pub(super) fn forgot_form(email: &str, error: Option<String>) -> AccessPage {
    AccessPage {
        title: "Reset your password".into(),
        text: "Enter the address of your account. You get a link to set a new password.".into(),
        action: FORGOT.into(),
        fields: vec![AccessField {
            name: "email",
            label: "Email",
            kind: "email",
            autocomplete: "username",
            value: email.into(),
            ..AccessField::default()
        }],
        error,
        button: "Send link",
        link: Some(BACK),
        ..AccessPage::default()
    }
}

pub(super) fn no_mail() -> AccessPage {
    let words = "This server sends no mail for it. Ask an administrator of the server for a reset link: \
                 “domainscope admin reset-link” with your address prints one.";
    AccessPage { link: Some(BACK), ..notice("Reset your password", words) }
}

pub(super) fn sign_in_form(
    state: &AppState,
    to: &str,
    email: &str,
    wants_code: bool,
    error: Option<String>,
) -> AccessPage {
    let mut fields = vec![
        AccessField {
            name: "email",
            label: "Email",
            kind: "email",
            autocomplete: "username",
            value: email.into(),
            ..AccessField::default()
        },
        AccessField {
            name: "password",
            label: "Password",
            kind: "password",
            autocomplete: "current-password",
            ..AccessField::default()
        },
    ];
    fields.extend(wants_code.then(code_field));
    AccessPage {
        title: "Sign in to Domainscope".into(),
        action: "/sign-in".into(),
        hidden: vec![("to".into(), own_path(to).to_string())],
        fields,
        error,
        button: "Sign in",
        passkey_to: Some(own_path(to).to_string()),
        provider: provider(state, to),
        link: Some((FORGOT, "Forgot your password?")),
        footer: "Access is by invitation.",
        ..AccessPage::default()
    }
}

/// The button of the sign-in provider: its address and words, and nothing wrong with it.
fn provider(state: &AppState, to: &str) -> Option<(String, String, Option<String>)> {
    let label = state.access.identity.oidc_label()?;
    let query: String =
        url::form_urlencoded::Serializer::new(String::new()).append_pair("to", own_path(to)).finish();
    Some((format!("/sign-in/oidc?{query}"), format!("Sign in with {label}"), None))
}

fn code_field() -> AccessField {
    AccessField {
        name: "code",
        label: "Authentication code",
        kind: "text",
        autocomplete: "one-time-code",
        hint: "6 digits from your authenticator app, or a recovery code",
        ..AccessField::default()
    }
}

pub(super) fn link_form(view: &LinkView, key: &str, person: &NewPerson, error: Option<String>) -> AccessPage {
    let text = |name, label, autocomplete, value: &str| AccessField {
        name,
        label,
        kind: if name == "email" { "email" } else { "text" },
        autocomplete,
        value: value.into(),
        ..AccessField::default()
    };
    let new_password = || AccessField {
        name: "password",
        label: "New password",
        kind: "password",
        autocomplete: "new-password",
        hint: "At least 12 characters",
        ..AccessField::default()
    };
    let page = AccessPage {
        action: "/accept".into(),
        hidden: vec![("key".into(), key.to_string())],
        error,
        ..AccessPage::default()
    };
    match view {
        LinkView::Setup => AccessPage {
            title: "Set up Domainscope".into(),
            text: "Create the first account. It owns this installation.".into(),
            fields: vec![
                text("organisation", "Organisation", "organization", &person.organisation),
                text("name", "Your name", "name", &person.name),
                text("email", "Email", "username", &person.email),
                new_password(),
            ],
            button: "Create account",
            ..page
        },
        LinkView::Invitation { email, organisation, role, invited_by, has_account } => AccessPage {
            title: format!("Join {organisation}"),
            text: format!("{invited_by} invited {email} as {}. {}", role.as_str(), role.sentence()),
            fields: if *has_account {
                let password = AccessField {
                    label: "Your password",
                    autocomplete: "current-password",
                    hint: "",
                    ..new_password()
                };
                let code = AccessField { is_optional: true, ..code_field() };
                vec![password, code]
            } else {
                vec![text("name", "Your name", "name", &person.name), new_password()]
            },
            button: "Join",
            ..page
        },
        LinkView::Reset { email } => AccessPage {
            title: "Set a new password".into(),
            text: format!("For {email}. All other sessions of this account are signed out."),
            fields: vec![new_password(), AccessField { is_optional: true, ..code_field() }],
            button: "Set password",
            ..page
        },
    }
}

pub(super) fn not_set_up() -> AccessPage {
    notice(
        "Domainscope is not set up yet",
        "Open the set-up link that the server printed when it started. “domainscope admin link” prints a new one.",
    )
}

pub(super) fn notice(title: &str, text: &str) -> AccessPage {
    AccessPage { title: title.into(), text: text.into(), ..AccessPage::default() }
}
