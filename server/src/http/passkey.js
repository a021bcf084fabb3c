// Passkeys in the browser: forms with data-passkey ask the server for options, the browser for a passkey, and send its
// answer. It listens on the document, so that forms which appear later work too.
(() => {
  "use strict";

  const say = (form, words) => {
    const place = form.querySelector("[data-passkey-error]");
    place.textContent = words;
    place.hidden = words === "";
  };

  const send = async (address, body) => {
    const response = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) {
      throw new Error(answer.detail || "The server did not respond. Try again in a moment.");
    }
    return answer;
  };

  const add = async (form) => {
    const { publicKey } = await send("/settings/passkeys/options", { password: form.elements.password.value });
    const options = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey);
    const passkey = await navigator.credentials.create({ publicKey: options });
    await send("/settings/passkeys", { name: form.elements.name.value, answer: passkey.toJSON() });
    location.assign("/settings/account?done=passkey_added.1");
  };

  const signIn = async (form) => {
    const { publicKey } = await send("/sign-in/passkey/options", {});
    const options = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey);
    const passkey = await navigator.credentials.get({ publicKey: options });
    const { to } = await send("/sign-in/passkey", { to: form.elements.to.value, answer: passkey.toJSON() });
    location.assign(to);
  };

  const words = (error) => {
    if (error.name === "NotAllowedError") return "No passkey was used: the request was cancelled or timed out.";
    if (error.name === "InvalidStateError") return "This device has a passkey of your account already.";
    if (error.name === "SecurityError") return "Passkeys need HTTPS and a host name: open this server by its name.";
    return error.message;
  };

  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-passkey]");
    if (form === null) return;
    event.preventDefault();
    const button = form.querySelector("button[type=submit]");
    if (!window.PublicKeyCredential?.parseCreationOptionsFromJSON) {
      say(form, "This browser supports no passkeys here: update it, and open this server by its name over HTTPS.");
      return;
    }
    say(form, "");
    button.disabled = true;
    try {
      await (form.dataset.passkey === "add" ? add(form) : signIn(form));
    } catch (error) {
      say(form, words(error));
    } finally {
      button.disabled = false;
    }
  });

  // Without script, or in a browser without passkeys, the page is the form with the password alone.
  const offered = document.querySelector("form[data-passkey=sign-in]");
  if (offered !== null && window.PublicKeyCredential) offered.hidden = false;
})();
