// The Copy buttons of a page without the browser bundle: data-copy names the area whose text is copied.
(() => {
  "use strict";

  const copy = async (area) => {
    try {
      await navigator.clipboard.writeText(area.value);
      return true;
    } catch {
      // A page served without TLS has no clipboard interface, and a browser may refuse: the selection is copied.
      area.select();
      return document.execCommand("copy");
    }
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const done = await copy(document.getElementById(button.dataset.copy));
    button.focus();
    const words = done ? "Copied" : "Copying was blocked: select the text";
    button.querySelector("span").textContent = words;
    button.closest(".card-head").querySelector("[role=status]").textContent = words;
  });
})();
