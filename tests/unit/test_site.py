"""A site opened from real files: what is fetched, what is found, and which release a request stays on."""

from __future__ import annotations

import time

import numpy as np
import pytest
from fakes.openrouter import KEY, OpenRouter, embed
from fakes.site import DIMENSION, movie, movies, nearest, publish
from releases import remote

from shared.bucket.file import FileBucket
from shared.contracts.release import LEXICAL_ROLES
from shared.errors import ModelUnavailable, ReleaseIncompatible, ReleaseMissing, SettingsError
from shared.index.items import IDS_ROLE, VECTOR_ROLES, write_items
from shared.index.lexical import write_lexical
from shared.models.choice import Models
from shared.release import manifest as manifests
from shared.release import writer
from shared.release.reader import current, evict, read_manifest
from shared.settings import Settings
from shared.sites import fetching as fetching_module
from shared.sites import site as site_module
from shared.sites.fetching import WORD_ROLES, fetching
from shared.sites.fields import fields_of
from shared.sites.kinds import KINDS
from shared.sites.site import Site, open_site

MOVIES = KINDS["movies"]


@pytest.fixture(scope="module")
def gateway():
    with OpenRouter(dimension=DIMENSION) as fake:
        yield fake


@pytest.fixture
def opened(tmp_path, gateway):
    """Publishes items and opens the site over them, with its embedder unless told otherwise."""
    sites: list[Site] = []

    def make(items=None, *, models=True, **given) -> Site:
        url = publish(tmp_path, movies() if items is None else items, MOVIES)
        reached = {"openrouter_api_key": KEY, "openrouter_base_url": gateway.url}
        settings = Settings(**{"bucket_url": url, "cache_dir": str(tmp_path / "cache"), **reached, **given})
        sites.append(open_site(settings, MOVIES, Models(settings, may_lack_a_key=True) if models else None))
        return sites[-1]

    yield make
    for site in sites:
        site.close()


def query(text: str) -> np.ndarray:
    return np.array(embed(text, DIMENSION), np.float32)


def damage(site: Site, role: str, change) -> None:
    """Change a release's mapped file where it lies."""
    array = np.load(site.release.paths[role], mmap_mode="r+")
    change(array)
    array.flush()


def test_words_find_the_best_first_and_ties_come_by_id(opened):
    site = opened([movie(n, "Solaris", "A planet.") for n in (5, 3, 9)] + [movie(1, "Stalker", "A zone, no Solaris.")])
    found = site.bm25("solaris", 10)
    assert [item.id for item in site.items([row for row, _ in found])] == ["003", "005", "009", "001"]
    assert [score for _, score in found[:3]] == [found[0][1]] * 3
    assert site.bm25("solaris", 2) == found[:2]


def test_a_word_that_no_item_holds_finds_nothing(opened):
    assert opened().bm25("zyzzyva", 20) == []
    assert opened().bm25("!?", 20) == []


def test_vectors_find_by_the_sum_of_three_cosines(opened):
    items = sorted(movies(), key=lambda item: item.id)
    site = opened(items)
    asked = query("a film about the desert")
    truth = [
        sum(float(np.dot(asked, np.array(embed(field, DIMENSION)))) for field in fields_of(each.record) if field)
        for each in items
    ]
    found = nearest(site, asked, len(items))
    np.testing.assert_allclose([score for _, score in found], sorted(truth, reverse=True), atol=4e-3)
    assert {row for row, _ in found} == set(range(len(items)))


def test_vectors_leave_out_what_words_have_found_and_still_fill_up(opened):
    site = opened()
    every = nearest(site, query("space"), 10)
    left_out = [row for row, _ in every[:4]]
    assert nearest(site, query("space"), 6, without=left_out) == every[4:]


def test_R05_a_field_without_a_usable_vector_adds_nothing_and_is_counted(opened):
    site = opened()
    (best, score), *_ = nearest(site, query("space story"), 1)
    again = opened()

    def spoil(array) -> None:
        array[best] = np.nan
        array[best - 1] *= 3

    damage(again, "vectors.name", spoil)
    again.close()
    reopened = site_module.FieldVectors(again.release.paths, again.count, DIMENSION, site_module.Scanner(1))
    scores = reopened.scores(query("space story"), (1.0, 1.0, 1.0))
    assert reopened.unusable == 2
    assert np.isfinite(scores).all()
    assert 0 < scores[best] < score


def test_a_matrix_of_another_shape_than_the_manifest_says_is_refused_by_name(opened):
    paths = opened().release.paths
    with pytest.raises(ReleaseIncompatible, match=r"vectors\.name: expected shape \(7, 64\)"):
        site_module.FieldVectors(paths, 7, DIMENSION, site_module.Scanner(1))


def test_items_come_in_the_order_they_are_asked_for(opened):
    site = opened()
    assert [item.id for item in site.items([7, 2, 5])] == ["007", "002", "005"]
    with pytest.raises(ReleaseIncompatible, match="row 4000"):
        site.items([4_000])


def test_typed_columns_are_read_by_row(opened):
    site = opened([movie(1, "Solaris", "A planet.", genre="Drama, Space", datePublished="1972-03-20")])
    assert (site.facts([0])[0]["year"], site.facts([0])[0]["genres"]) == (1972, ("drama", "space"))


def test_a_site_is_named_by_its_collection(opened):
    site = opened()
    assert (site.collection, site.label, site.count) == ("imdb", MOVIES.label, len(movies()))
    assert site.describe()["items"] == len(movies())


def roles_fetched(site: Site) -> set[str]:
    return set(site.release.paths)


def test_a_site_with_its_embedder_fetches_what_both_searches_need(opened):
    site = opened()
    assert roles_fetched(site) == {"records", *LEXICAL_ROLES, *VECTOR_ROLES}
    assert site.embedder is not None
    assert site.lacks == ""


@pytest.mark.parametrize("given", [{"models": False}, {"openrouter_api_key": ""}])
def test_M09_a_site_without_its_embedder_fetches_no_vectors_and_finds_by_words(opened, given):
    site = opened(**given)
    assert roles_fetched(site) == {"records", *LEXICAL_ROLES}
    assert site.embedder is None
    assert site.lacks
    assert site.bm25("space story", 3)
    with pytest.raises(ModelUnavailable):
        nearest(site, query("space"), 3)


def test_M09_a_site_says_which_key_it_lacks(opened):
    site = opened(llm_provider="openrouter", openrouter_api_key="")
    assert "OPENROUTER_API_KEY" in site.lacks


def test_a_copied_release_copies_no_more_than_it_needs(tmp_path, monkeypatch):
    url = publish(tmp_path, movies(), MOVIES)
    far = remote(FileBucket(url))
    monkeypatch.setattr(fetching_module, "bucket_of", lambda _: far)
    settings = Settings(bucket_url=url, cache_dir=str(tmp_path / "cache"))
    site = open_site(settings, MOVIES)
    manifest = read_manifest(FileBucket(url), "movies", site.release.id)
    needed = {manifests.file_key("movies", f.sha256) for f in manifest.files if f.role not in (*VECTOR_ROLES, IDS_ROLE)}
    assert set(far.ranges) == needed
    site.close()


def once_copied(folder) -> Exception:
    """What nobody foresaw, as soon as all that words need lies in the cache."""
    until = time.monotonic() + 30
    while len([path for path in folder.glob("*") if not path.suffix]) != len(WORD_ROLES):
        assert time.monotonic() < until, "not all that words need was copied"
        time.sleep(0.01)
    return ZeroDivisionError()


def test_a_release_that_nobody_took_is_let_go(tmp_path):
    url = publish(tmp_path, movies(), MOVIES)
    far = remote(FileBucket(url))
    settings = Settings(bucket_url=url, cache_dir=str(tmp_path / "cache"))
    copied = tmp_path / "cache" / "files"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetching_module, "bucket_of", lambda _: far)
        with pytest.raises(ZeroDivisionError), fetching(settings, "movies"):
            raise once_copied(copied)
    assert len(list(copied.iterdir())) == len(WORD_ROLES)
    evict(tmp_path / "cache")
    assert not list(copied.iterdir())


def test_once_nobody_waits_for_a_release_none_of_its_files_is_fetched(tmp_path, monkeypatch):
    url = publish(tmp_path, movies(), MOVIES)
    far = remote(FileBucket(url))
    read = far.read

    def slow(key):
        time.sleep(0.3)
        return read(key)

    monkeypatch.setattr(far, "read", slow)
    monkeypatch.setattr(fetching_module, "bucket_of", lambda _: far)
    settings = Settings(bucket_url=url, cache_dir=str(tmp_path / "cache"))
    with pytest.raises(ZeroDivisionError), fetching(settings, "movies"):
        raise ZeroDivisionError
    assert not far.ranges


def test_an_open_site_stays_what_it_is_when_another_release_is_published(tmp_path, opened):
    site = opened([movie(1, "Solaris", "A planet.")])
    assert not site.stale()
    publish(tmp_path, [movie(2, "Stalker", "A zone.")], MOVIES)
    assert site.stale()
    assert current(site.bucket, "movies").release != site.release.id
    assert [site.items([row])[0].name for row, _ in site.bm25("solaris stalker", 5)] == ["Solaris"]


def test_a_bucket_without_the_site_says_so(tmp_path):
    settings = Settings(bucket_url=tmp_path.as_uri(), cache_dir=str(tmp_path / "cache"))
    with pytest.raises(ReleaseMissing, match="movies"):
        open_site(settings, MOVIES)
    with pytest.raises(SettingsError, match="BUCKET_URL"):
        open_site(Settings(), MOVIES)


def refused(bucket_url: str, tmp_path, files) -> str:
    """What is said of a release that has these files in place of its own."""
    bucket = FileBucket(bucket_url)
    manifest = read_manifest(bucket, "movies", current(bucket, "movies").release)
    kept = {f.role: bucket.local_path(manifests.file_key("movies", f.sha256)) for f in manifest.files}
    writer.switch(bucket, "movies", writer.write(bucket, manifest, {**kept, **files}))
    with pytest.raises(ReleaseIncompatible) as refusal:
        open_site(Settings(bucket_url=bucket_url, cache_dir=str(tmp_path / "cache")), MOVIES)
    return refusal.value.message


def test_R04_a_release_whose_postings_are_of_other_fields_or_rows_is_refused_by_name(tmp_path):
    url = publish(tmp_path, movies(3), MOVIES)
    for documents, why in (
        ([("a", "b")] * 7, "lexical.lengths: expected 3 fields, found 2"),
        ([("a", "b", "c")] * 5, "lexical.lengths: expected 7 rows, found 5"),
    ):
        folder = tmp_path / str(len(documents))
        folder.mkdir()
        assert refused(url, tmp_path, write_lexical(folder, documents)) == why


def test_R04_a_release_whose_records_are_of_other_rows_is_refused_by_name(tmp_path):
    url = publish(tmp_path, movies(3), MOVIES)
    write_items(tmp_path / "few.db", movies(3)[:2], [{}, {}], [("", "", "")] * 2)
    assert refused(url, tmp_path, {"records": tmp_path / "few.db"}).startswith("records: expected rows 0 to 6, found 2")
