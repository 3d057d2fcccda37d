// Keys, and what the server cannot say itself. Everything works without this file.
(() => {
  const said = () => document.getElementById("said");
  const isTyping = target => target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");

  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const leavesNote = event.key === "Enter" && event.target.name === "note";
    if (leavesNote || (event.key === "Escape" && isTyping(event.target))) {
      event.preventDefault();
      event.target.blur();
      return;
    }
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const found = [...document.querySelectorAll("[data-key]")];
    const chosen = found.find(one => one.dataset.key === event.key);
    if (!chosen || chosen.disabled) return;
    event.preventDefault();
    if (chosen.dataset.focus !== undefined) chosen.focus();
    else if (chosen.dataset.dialog !== undefined) document.getElementById(chosen.dataset.dialog).showModal();
    else chosen.click();
  });

  document.addEventListener("click", event => {
    const opener = event.target.closest("[data-dialog]");
    if (!opener) return;
    event.preventDefault();
    document.getElementById(opener.dataset.dialog).showModal();
  });

  // A page whose content was replaced: its address, the way back, and where to read on.
  const address = () => location.pathname + location.search;
  let shown = address();

  const showAddress = request => {
    const found = request.verb === "get" ? request.path : "/"; // forms lead to the queue
    if (found === shown) return;
    history[request.verb === "get" ? "pushState" : "replaceState"](null, "", found);
    shown = found;
  };

  document.addEventListener("htmx:afterSwap", event => {
    if (event.detail.target.id !== "main") return;
    showAddress(event.detail.requestConfig);
    const heading = document.querySelector("#main h1");
    heading.tabIndex = -1;
    heading.focus();
  });

  addEventListener("popstate", () => {
    if (address() !== shown) location.reload(); // else it was a place on this page
  });

  // What was said before is not said again.
  document.addEventListener("htmx:oobBeforeSwap", event => {
    const { target, fragment } = event.detail;
    event.detail.shouldSwap = target.textContent.trim() !== fragment.textContent.trim();
  });

  const lost = "The server does not answer. Press the same key again in a moment: it is recorded once.";
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, event => {
      if (event.detail.requestConfig.verb === "post") said().textContent = lost;
    });
  }
})();
