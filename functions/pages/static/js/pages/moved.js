// A short address on a host that serves files alone: on to the page it stands for, with the query and the fragment.
{
  const page = new URL(document.querySelector('link[rel="canonical"]').href);
  page.search = location.search;
  page.hash = location.hash;
  location.replace(page);
}
