//! The icons: one inline sprite, 16 px, stroke 1.5, drawn for this product; and references into it.

use leptos::prelude::*;

const SPRITE: &str = include_str!("sprite.svg");

/// The sprite; once a document.
#[component]
pub(crate) fn Sprite() -> impl IntoView {
    view! { <svg class="absolute" width="0" height="0" aria-hidden="true" inner_html=SPRITE></svg> }
        .into_any()
}

fn reference(name: &str) -> String {
    format!("#i-{name}")
}

/// An icon beside words; screen readers skip it.
pub(crate) fn icon(name: &str) -> impl IntoView + use<> {
    view! { <svg class="i" viewBox="0 0 16 16" aria-hidden="true"><use_ href=reference(name)/></svg> }
        .into_any()
}

/// A smaller one.
pub(crate) fn icon_sm(name: &str) -> impl IntoView + use<> {
    view! { <svg class="i i-sm" viewBox="0 0 16 16" aria-hidden="true"><use_ href=reference(name)/></svg> }
        .into_any()
}

/// One with a colour or size class of its own.
pub(crate) fn icon_in(name: &str, class: &'static str) -> impl IntoView + use<> {
    view! { <svg class=class viewBox="0 0 16 16" aria-hidden="true"><use_ href=reference(name)/></svg> }
        .into_any()
}

/// One inside a picture, at a place.
pub(crate) fn icon_at(name: &str, class: &'static str, x: i32, y: i32) -> impl IntoView + use<> {
    view! {
        <svg x=x y=y width="14" height="14" viewBox="0 0 16 16" class=class><use_ href=reference(name)/></svg>
    }
    .into_any()
}
