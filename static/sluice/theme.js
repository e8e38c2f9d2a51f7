/* Light or dark. The stylesheet dark.css follows the system's preference; whoever chose otherwise here gets that, from the
   first paint on: this file is loaded without defer on purpose. Everything else lies in console.js. */
(function () {
  "use strict";
  const KEY = "sluice-theme";
  const sheet = document.getElementById("dark");
  const preference = sheet.media;

  function show(theme) {
    sheet.media = theme === "dark" ? "all" : "not all";
  }

  function stored() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage may be closed to us: the system's preference is good enough
    }
  }

  const isDark = () => (sheet.media === preference ? matchMedia(preference).matches : sheet.media === "all");
  const chosen = stored();
  if (chosen) show(chosen);

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    const theme = isDark() ? "light" : "dark";
    show(theme);
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      /* not remembered then */
    }
  });

  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-theme-switch]")) button.hidden = false;
  });
})();
