locals {
  deployed  = yamldecode(file("${path.module}/../functions.yaml"))
  public    = "https://${var.domain}"
  in_cosmos = [for kind, site in var.sites : kind if site.store == "cosmos"]
  folders   = [for function in concat(values(local.deployed.functions), [local.deployed.site]) : function.folder]
  site_urls = join(",", [for kind in keys(var.sites) : "${kind}=${local.public}/sites/${kind}"])

  # Every function by name: those of the tables and the pages, and one a site.
  functions = merge(
    { for name, function in local.deployed.functions : name => merge(function, { kind = "" }) },
    { for kind in keys(var.sites) : "ask-${kind}" => merge(local.deployed.site, { kind = kind }) },
  )

  # Without vectors: of 182,009 tables with 1,536 numbers each, 607 MB of 1,155.
  held_mib = {
    nothing = 0
    tables  = var.tables_release_mib
    records = ceil(var.tables_release_mib * 0.6)
  }
  # A release is held twice while a new one takes its place.
  memory_mib = { for name, function in local.functions : name =>
    512 + 2 * (function.kind == "" ? local.held_mib[function.memory] : var.sites[function.kind].release_mib)
  }

  # Of each folder, so that who changes one need not name the others.
  most_instances = merge(
    { search = 10, variable = 5, registry = 5, mcp = 5, pages = 3, stats = 1, ask_site = 1 },
    var.max_instances,
  )

  # What only this deployment knows, by group of settings.
  known = {
    reading = {
      BUCKET_URL   = "gs://${google_storage_bucket.releases.name}"
      ARD_CATALOGS = join(",", var.catalogs)
    }
    asking = merge(
      {
        SPEND_LIMIT_USD_PER_DAY = tostring(var.spend_limit_usd_per_day)
        OPENROUTER_APP_URL      = local.public
      },
      var.shared_limits ? {
        RATE_LIMIT_STORAGE_URL = "redis://${google_redis_instance.limits[0].host}:${google_redis_instance.limits[0].port}"
      } : {},
    )
    searching = {}
    site = {
      ASKHUB_CORS_ORIGINS = join(",", concat([local.public], var.cors_origins))
    }
  }
  of_function = {
    mcp   = { SITE_URLS = local.site_urls }
    pages = { SITE_URLS = local.site_urls }
  }
  of_site = { for kind, site in var.sites : kind => merge(
    {
      SITE  = kind
      STORE = site.store
    },
    site.store == "cosmos" ? local.cosmos : {},
  ) }
  cosmos = { COSMOS_ENDPOINT = var.cosmos_endpoint }

  environment = { for name, function in local.functions : name => merge(concat(
    [local.deployed.settings.every],
    [for group in function.settings : merge(local.deployed.settings[group], local.known[group])],
    [
      contains(function.needs, "stats") ? { STATS_URL = "gs://${google_storage_bucket.stats.name}" } : {},
      { AGENT_FINDER_SELF = function.kind == "" ? "${local.public}/" : "${local.public}/sites/${function.kind}/" },
      try(local.of_function[name], {}),
      try(local.of_site[function.kind], {}),
    ],
  )...) }
  secrets = { for name, function in local.functions : name => merge(
    contains(function.needs, "models") ? { OPENROUTER_API_KEY = google_secret_manager_secret.openrouter.secret_id } : {},
    contains(local.in_cosmos, function.kind) ? { COSMOS_KEY = google_secret_manager_secret.cosmos["read"].secret_id } : {},
  ) }
}

resource "google_cloud_run_v2_service" "function" {
  for_each            = local.functions
  name                = "askbucket-${each.key}"
  location            = var.region
  ingress             = "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER"
  deletion_protection = false
  description         = "Askbucket: ${each.value.folder}"

  # Everybody may ask, and the ingress lets only the balancer through. Many organizations refuse `allUsers` as invoker.
  invoker_iam_disabled = true

  template {
    service_account                  = google_service_account.function[each.key].email
    timeout                          = "${each.value.timeout_s}s"
    max_instance_request_concurrency = 20
    execution_environment            = "EXECUTION_ENVIRONMENT_GEN2"

    scaling {
      min_instance_count = lookup(var.min_instances, each.value.folder, 0)
      max_instance_count = local.most_instances[each.value.folder]
    }

    containers {
      # infra/deploy rolls our images out; this one answers /health until then.
      image = var.first_image

      ports {
        container_port = 8080
      }

      resources {
        limits = {
          # The platform gives more than 4 GiB to two processors only, more than 8 GiB to four.
          cpu    = local.memory_mib[each.key] > 8192 ? "4" : local.memory_mib[each.key] > 4096 ? "2" : "1"
          memory = "${local.memory_mib[each.key]}Mi"
        }
        cpu_idle          = true
        startup_cpu_boost = true
      }

      dynamic "env" {
        for_each = local.environment[each.key]
        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = local.secrets[each.key]
        content {
          name = env.key
          value_source {
            secret_key_ref {
              secret  = env.value
              version = "latest"
            }
          }
        }
      }

      # Traffic comes when the release is there: until then /health is 503, and says how far it is.
      startup_probe {
        http_get {
          path = "/health"
        }
        period_seconds    = 1
        timeout_seconds   = 1
        failure_threshold = 240
      }
    }

    dynamic "vpc_access" {
      for_each = var.shared_limits && contains(each.value.needs, "models") ? [1] : []
      content {
        egress = "PRIVATE_RANGES_ONLY"
        network_interfaces {
          network    = google_compute_network.private[0].id
          subnetwork = google_compute_subnetwork.private[0].id
        }
      }
    }
  }

  # infra/deploy moves traffic, step by step, and gcloud puts a label on what it changes; another apply must undo neither.
  # So a revision that Terraform makes has no traffic after the first rollout: `infra/deploy roll` brings it there.
  lifecycle {
    ignore_changes = [traffic, client, client_version, template[0].labels, template[0].containers[0].image]
  }

  depends_on = [
    google_secret_manager_secret_version.openrouter,
    google_secret_manager_secret_version.cosmos,
    google_secret_manager_secret_iam_member.openrouter,
    google_secret_manager_secret_iam_member.cosmos,
    google_storage_bucket_iam_member.reads,
    google_storage_bucket_iam_member.counts,
  ]
}
