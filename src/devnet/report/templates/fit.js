// Sorts and filters the alerts. Without it the page shows them all, in their order.
(() => {
  const tools = document.querySelector(".tools");
  if (!tools) return;
  const [first, second] = document.querySelectorAll("ol.alerts");
  const rest = document.querySelector("details.rest");
  const cards = [...document.querySelectorAll(".alert")];
  const nOpen = first.children.length;
  const [search, column, sort] = ["search", "column", "sort"].map(name => tools.elements[name]);
  const count = tools.querySelector("output");

  const valueOf = (card, name) => {
    const names = [...card.querySelectorAll(".values dt")];
    const found = names.find(one => one.textContent === name);
    return found ? found.nextElementSibling.textContent : "";
  };
  const columnsOf = card => [...card.querySelectorAll(".reasons li")].map(li => li.dataset.column);
  const addOptions = (select, names) => {
    for (const name of [...new Set(names)].sort()) select.add(new Option(name, "=" + name));
  };
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    const [x, y] = [Number(a), Number(b)];
    return isNaN(x) || isNaN(y) ? a.localeCompare(b) : y - x;
  };

  const update = () => {
    const words = search.value.trim().toLowerCase();
    const wanted = column.value.slice(1);
    const by = sort.value.slice(1);
    const shown = cards.filter(card =>
      card.textContent.toLowerCase().includes(words) &&
      (!wanted || columnsOf(card).includes(wanted)));
    if (sort.value) shown.sort((a, b) => compare(valueOf(a, by), valueOf(b, by)));
    first.replaceChildren(...shown.slice(0, nOpen));
    if (rest) {
      second.replaceChildren(...shown.slice(nOpen));
      rest.hidden = shown.length <= nOpen;
      rest.querySelector("summary").textContent = `${shown.length - nOpen} more`;
    }
    count.textContent = `${shown.length} of ${cards.length} rows`;
  };

  addOptions(column, cards.flatMap(columnsOf));
  addOptions(sort, cards.flatMap(card =>
    [...card.querySelectorAll(".values dt")].map(one => one.textContent)));
  tools.addEventListener("input", update);
  tools.addEventListener("submit", event => event.preventDefault());
  tools.hidden = false;
  update();
})();
