"""Every HTML page and its scripts, styles and pictures: files of this folder, and one that says where the services are.

No model, no release, no event loop: what is served is read once, after the fork.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlencode

from msgspec.structs import replace

from functions.pages.accept import prefers_html, takes_gzip
from functions.pages.assets import Asset, Assets, asset_names, open_assets
from functions.pages.config import CONFIG, Addresses, addresses, policy
from shared.edge.app import App
from shared.edge.call import Call
from shared.edge.process import Hosted
from shared.edge.reply import Reply
from shared.edge.route import Handler, Routes
from shared.settings import Settings
from shared.sites.kinds import KINDS

# The registry's; its module would bring the tables into memory.
_MANIFEST = "/.well-known/ard.json"
# Served under each kind's address, from whose depth it links, and nowhere else.
OF_EACH_KIND = "samples/ask.html"
# Address → the file behind it. Where a page's file lies in a folder, its address ends in a slash, because what it
# links to is found from there.
_PAGES = {
    "/entry": "entry.html",
    "/browse": "browse.html",
    "/stats": "stats.html",
    "/status": "status.html",
}
_FOLDERS = {
    "/samples": "samples/index.html",
    "/samples/wake": "samples/wake/index.html",
    **{f"/samples/{kind}": OF_EACH_KIND for kind in KINDS},
}


def create(settings: Settings, here: Collection[str] = ()) -> App[Assets]:
    """The pages. `here` are the kinds of sites that this process serves itself, below /sites/.

    Raises SettingsError where the settings alone are wrong; starts nothing.
    """
    found = addresses(settings, here)
    hosted = Hosted(
        lambda _: open_assets({CONFIG: found.script().encode()}),
        is_stale=Assets.changed,
        close=lambda _: None,
        refresh_s=settings.refresh_s,
    )
    return App(
        hosted,
        _routes(settings),
        describe=lambda assets: {"files": len(assets)},
        settings=settings,
        counted="pages",
        headers=_headers(settings, found),
    )


def _routes(settings: Settings) -> Routes[Assets]:
    """A route a file that is there now, so no request's path ever becomes a file's."""
    names = [name for name in asset_names() if name != OF_EACH_KIND]
    files: Routes[Assets] = {f"/{name}": {"GET": _file(name)} for name in names}
    pages: Routes[Assets] = {path: {"GET": _page(name)} for path, name in _PAGES.items()}
    folders: Routes[Assets] = {path: {"GET": _folder(path, name)} for path, name in _FOLDERS.items()}
    short: Routes[Assets] = {f"/{kind}": {"GET": _moved(f"samples/{kind}/")} for kind in KINDS}
    return {
        **files,
        **pages,
        **folders,
        **short,
        "/": {"GET": _front(settings)},
        "/favicon.ico": {"GET": _file("icon.svg")},
        "/samples/{kind}": {"GET": _unknown_kind},
    }


def _headers(settings: Settings, found: Addresses) -> dict[str, str]:
    return {
        "Content-Security-Policy": policy(found),
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        **({"X-Robots-Tag": "noindex"} if settings.robots_noindex else {}),
    }


def _front(settings: Settings) -> Handler[Assets]:
    def get_front(call: Call, assets: Assets) -> Reply:
        """The ARD page for people; for programs the card that says where to go on."""
        reply = _sent(assets["index.html"], call) if prefers_html(call.headers.get("accept")) else _card(settings, call)
        told = {"Vary": "Accept, Accept-Encoding", "Link": f'<{_MANIFEST}>; rel="ard"'}
        return replace(reply, headers={**reply.headers, **told})

    return get_front


def _card(settings: Settings, call: Call) -> Reply:
    from shared.tables.registry.wellknown import card  # 60 ms, for what nobody may ever ask this process for

    return Reply.stable(card(settings, call.base_url), max_age_s=int(settings.refresh_s))


def _file(name: str) -> Handler[Assets]:
    def get_file(call: Call, assets: Assets) -> Reply:
        """A file, at its own address; with a slash behind it its links would lead elsewhere."""
        last = name.rpartition("/")[2]
        return _redirect(f"../{last}", call) if _slashed(call) else _sent(assets[name], call)

    return get_file


def _page(name: str) -> Handler[Assets]:
    def get_page(call: Call, assets: Assets) -> Reply:
        """A page whose address has no slash at its end."""
        return _redirect(f"../{name.removesuffix('.html')}", call) if _slashed(call) else _sent(assets[name], call)

    return get_page


def _folder(path: str, name: str) -> Handler[Assets]:
    def get_folder(call: Call, assets: Assets) -> Reply:
        """A page whose address has a slash at its end."""
        return _sent(assets[name], call) if _slashed(call) else _redirect(f"{path.rpartition('/')[2]}/", call)

    return get_folder


def _moved(to: str) -> Handler[Assets]:
    def get_moved(call: Call, assets: Assets) -> Reply:
        """A short address of another page."""
        del assets
        return _redirect(f"../{to}" if _slashed(call) else to, call)

    return get_moved


def _unknown_kind(call: Call, assets: Assets) -> Reply:
    """No such kind: the page that shows which there are."""
    del assets
    return _redirect("../" if _slashed(call) else "./", call, status=302)


def _slashed(call: Call) -> bool:
    return call.sent_path.endswith("/")


def _redirect(to: str, call: Call, status: int = 308) -> Reply:
    """To an address beside the one that was asked, with its query: whatever prefix we lie below, that is right."""
    query = urlencode(call.query.pairs)
    return Reply(status, None, {"Location": f"{to}?{query}" if query else to})


def _sent(asset: Asset, call: Call) -> Reply:
    """A file, small where the browser can read it so. It may be kept, but is asked for each time."""
    squeezed = asset.gzipped is not None and takes_gzip(call.headers.get("accept-encoding"))
    content, tag = (asset.gzipped, f"{asset.digest}-gz") if squeezed else (asset.content, asset.digest)
    headers = {
        "Cache-Control": "no-cache",
        "ETag": f'"{tag}"',
        "Vary": "Accept-Encoding",
        **({"Content-Encoding": "gzip"} if squeezed else {}),
    }
    return Reply(200, content, headers, asset.content_type)
