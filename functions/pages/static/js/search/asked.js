// A classic script that runs before anything is drawn: where the address holds a question, the page makes room for its
// answer at once, and nothing moves when that comes.
document.documentElement.classList.toggle("asked", Boolean(new URLSearchParams(location.search).get("q")?.trim()));
