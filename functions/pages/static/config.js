// Served with the addresses of this deployment in its place; as it stands, everything lies at the page's own origin.
window.ASKBUCKET_API = "";
window.NLWEB_API = {};
