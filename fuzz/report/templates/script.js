"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Light and dark: what the system says, until somebody says otherwise.
  const root = document.documentElement;
  const toggle = $("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const memory = (write) => {
    try {
      return write(localStorage);
    } catch {
      return null; // a page on a disk may have none
    }
  };
  const label = () => {
    toggle.textContent = isDark() ? "Light" : "Dark";
    toggle.setAttribute("aria-label", `Show in ${isDark() ? "light" : "dark"} colours`);
  };
  const theme = memory((storage) => storage.getItem("relaxfuzz-theme"));
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    memory((storage) => storage.setItem("relaxfuzz-theme", root.dataset.theme));
    label();
  });
  dark.addEventListener("change", label);
  label();
  toggle.hidden = false;

  // Copies.
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages that were not loaded securely have no clipboard.
      const area = document.createElement("textarea");
      area.className = "hidden";
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  for (const button of all(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copy($(button.dataset.copies).textContent);
      button.focus();
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
  }

  // The filter.
  const form = $("filter");
  const entries = all(".entry").map((element) => ({
    element,
    state: element.parentElement.dataset.state,
    grade: element.dataset.grade,
    places: element.dataset.places.split("\n").map((place) => place.split("\t")),
    text: null,
  }));
  const apply = () => {
    const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const states = new Set(all("[name=state]:checked", form).map((box) => box.value));
    const grades = new Set(all("[name=grade]:checked", form).map((box) => box.value));
    const [pass, oracle] = [$("pass").value, $("oracle").value];
    let shown = 0;
    for (const entry of entries) {
      if (words.length) entry.text ??= entry.element.textContent.toLowerCase();
      const fits =
        states.has(entry.state) &&
        grades.has(entry.grade) &&
        entry.places.some(([by, from]) => (!pass || by === pass) && (!oracle || from === oracle)) &&
        words.every((word) => entry.text.includes(word));
      entry.element.hidden = !fits;
      shown += fits;
    }
    for (const group of all(".group")) group.hidden = !group.querySelector(".entry:not([hidden])");
    $("nothing").hidden = shown > 0;
    $("count").textContent = `${shown} of ${entries.length}`;
  };
  if (form) {
    form.addEventListener("input", apply);
    form.addEventListener("reset", () => setTimeout(apply));
    form.addEventListener("submit", (event) => event.preventDefault());
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      $("search").focus();
    });
    form.hidden = false;
    apply();
    for (const button of all("#passes [data-pass]")) {
      button.addEventListener("click", () => {
        form.reset();
        $("pass").value = button.dataset.pass;
        apply();
        $("findings").scrollIntoView();
        $("search").focus({ preventScroll: true });
      });
    }
  }

  // Tables: a click on a heading sorts, another one the other way round.
  for (const [column, heading] of all(".sortable thead th").entries()) {
    heading.firstElementChild.addEventListener("click", () => {
      const table = heading.closest("table");
      const up = heading.getAttribute("aria-sort") === (column ? "descending" : null);
      for (const other of all("th[aria-sort]", table)) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const compare = (a, b) =>
        column ? value(a) - value(b) : value(a).localeCompare(value(b));
      const rows = all("tbody tr", table).sort((a, b) => (up ? 1 : -1) * compare(a, b));
      table.tBodies[0].append(...rows);
    });
  }

  // A link to a finding opens it, and an open finding is what the address names.
  for (const { element } of entries)
    element.addEventListener("toggle", () => {
      if (element.open) history.replaceState(null, "", `#${element.id}`);
    });
  const open = () => {
    const target = location.hash && $(decodeURIComponent(location.hash.slice(1)));
    if (target?.matches?.(".entry")) {
      if (target.hidden) form.reset(), apply();
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", open);
  open();
})();
