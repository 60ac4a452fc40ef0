"""Every family that leaves can be made of, by its source directory."""

from __future__ import annotations

from build_jobs.leaves import (
    cdc_places,
    census,
    census_acs_bq,
    college_scorecard,
    datacommons,
    fema,
    gcp_bigquery_public,
    gcp_marketplace,
    grants_gov,
    irs_990_bq,
    irs_grants,
    nih_reporter,
    nonprofit_990,
    nonprofit_bmf,
    nonprofit_profile,
    nsf_awards,
    sec_bq,
    sec_edgar,
    treasury,
    un_sdg,
    usaspending,
    worldbank,
)

_MODULES = (
    datacommons, sec_edgar, census, worldbank, un_sdg, usaspending, treasury,
    nonprofit_990, nonprofit_bmf, nonprofit_profile, cdc_places, college_scorecard, fema,
    irs_grants, nih_reporter, nsf_awards, grants_gov,
    gcp_bigquery_public, gcp_marketplace, census_acs_bq, sec_bq, irs_990_bq,
)  # fmt: skip

FAMILIES = {module.FAMILY.directory: module.FAMILY for module in _MODULES}
