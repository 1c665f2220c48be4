"use strict";
// Sorts and filters the table of all rows. Without it the table shows every row in the file's order.
(() => {
  const FIRST = 100; // rows shown until more are asked for
  const table = document.querySelector("table.rows");
  const form = document.querySelector("form.controls");
  const count = document.querySelector(".count");
  const more = document.querySelector(".more");
  const all = document.getElementById("all");
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const shift = heads.length - 8; // a column says the file where there are several
  const filed = [...body.rows].map((row) => ({
    row,
    name: row.cells[shift].textContent,
    remarks: row.lastChild.textContent,
    family: row.dataset.f,
    status: row.className || "ok",
    why: row.dataset.why,
    label: row.dataset.label || "measured",
    flags: [...row.querySelectorAll("i")].map((one) => one.textContent),
    file: shift ? row.cells[0].textContent : "",
  }));
  let shown = filed; // in the order chosen
  let only = null; // what a link asked for: {says, has}
  let limit = FIRST;

  function patterns() {
    const words = form.text.value.trim().split(/\s+/).filter(Boolean);
    form.text.setCustomValidity("");
    return words.map((word) => {
      try {
        return new RegExp(word, "i");
      } catch {
        form.text.setCustomValidity("no regular expression");
        return new RegExp(word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
      }
    });
  }

  function fits(wanted) {
    const chosen = (name) => (form[name] ? form[name].value : "");
    const [family, status, label, flag, file] = ["family", "status", "label", "flag", "file"].map(chosen);
    return (one) =>
      (!family || one.family === family) &&
      (!status || one.status === status) &&
      (!label || one.label === label) &&
      (!flag || one.flags.includes(flag)) &&
      (!file || one.file === file) &&
      (!only || only.has(one)) &&
      wanted.every((pattern) => pattern.test(one.name) || pattern.test(one.remarks));
  }

  function show() {
    const test = fits(patterns());
    let found = 0;
    for (const one of shown) {
      const fit = test(one);
      found += fit;
      one.row.hidden = !fit || found > limit;
    }
    const seen = Math.min(found, limit);
    const what = only ? `${only.says}: ` : "";
    const rows = found === filed.length ? `${found} rows` : `${found} of ${filed.length} rows`;
    count.textContent = `${what}${rows}${seen < found ? `, the first ${seen} shown` : ""}`;
    more.hidden = seen === found;
    all.textContent = `Show all ${found}`;
  }

  function key(one, at, numeric) {
    const cells = one.row.cells; // of a row without numbers the last one spans theirs
    const cell = cells.length === heads.length || at <= shift ? cells[at] : at === heads.length - 1 ? cells[shift + 1] : null;
    if (!cell) return NaN;
    if (!numeric) return cell.textContent;
    return cell.dataset.v !== undefined || cell.textContent ? Number(cell.dataset.v ?? cell.textContent) : NaN;
  }

  function sort(head) {
    const next = { none: "ascending", ascending: "descending", descending: "none" };
    const order = next[head.getAttribute("aria-sort") || "none"];
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    const at = heads.indexOf(head);
    const numeric = head.dataset.by === "number";
    const sign = order === "descending" ? -1 : 1;
    shown = filed;
    if (order !== "none") {
      head.setAttribute("aria-sort", order);
      const keyed = filed.map((one) => ({ one, key: key(one, at, numeric) }));
      const empty = (value) => value === "" || Number.isNaN(value); // these stay last
      const collator = new Intl.Collator("en", { numeric: true });
      keyed.sort((a, b) => {
        if (empty(a.key) || empty(b.key)) return empty(a.key) - empty(b.key);
        return sign * (numeric ? a.key - b.key : collator.compare(a.key, b.key));
      });
      shown = keyed.map(({ one }) => one);
    }
    body.replaceChildren(...shown.map(({ row }) => row));
    show();
  }

  function changed() {
    limit = FIRST;
    show();
  }

  function follow(link) {
    form.reset();
    const { families, why, says } = link.dataset;
    const asked = families && families.split(" ");
    only = { says, has: (one) => (asked ? asked.includes(one.family) : one.why === why) };
    changed();
  }

  heads.forEach((head) => head.firstChild.addEventListener("click", () => sort(head)));
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    only = null;
    setTimeout(changed);
  });
  all.addEventListener("click", () => {
    limit = Infinity;
    show();
  });
  document.querySelectorAll("a[data-says]").forEach((link) => link.addEventListener("click", () => follow(link)));
  form.hidden = false;
  show();
})();
