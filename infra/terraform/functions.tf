locals {
  deployed  = yamldecode(file("${path.module}/../functions.yaml"))
  public    = "https://${var.domain}"
  in_cosmos = [for kind, site in var.sites : kind if site.store == "cosmos"]
  site_urls = join(",", [for kind in keys(var.sites) : "${kind}=${local.public}/sites/${kind}"])

  # Every function by name: those of the tables and the pages, and one a site.
  functions = merge(
    { for name, function in local.deployed.functions : name => merge(function, { kind = "" }) },
    { for kind in keys(var.sites) : "ask-${kind}" => merge(local.deployed.site, { kind = kind }) },
  )

  held_mib = {
    nothing = 0
    tables  = var.tables_release_mib
    records = ceil(var.tables_release_mib / 3)
  }
  # A release is held twice while a new one takes its place.
  memory_mib = { for name, function in local.functions : name =>
    512 + 2 * (function.kind == "" ? local.held_mib[function.memory] : var.sites[function.kind].release_mib)
  }

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
  cosmos = length(local.in_cosmos) > 0 ? {
    COSMOS_ENDPOINT  = azurerm_cosmosdb_account.items[0].endpoint
    COSMOS_DATABASE  = azurerm_cosmosdb_sql_database.samples[0].name
    COSMOS_CONTAINER = azapi_resource.items[0].name
  } : {}

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

  template {
    service_account                  = google_service_account.function[each.key].email
    timeout                          = "${each.value.timeout_s}s"
    max_instance_request_concurrency = 20
    execution_environment            = "EXECUTION_ENVIRONMENT_GEN2"

    scaling {
      min_instance_count = lookup(var.min_instances, each.value.folder, 0)
      max_instance_count = var.max_instances[each.value.folder]
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

  # infra/deploy moves traffic, step by step; another apply must not move it back.
  lifecycle {
    ignore_changes = [traffic, client, client_version, template[0].containers[0].image]
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

# Everybody may ask; the ingress above lets only the balancer through.
resource "google_cloud_run_v2_service_iam_member" "everybody" {
  for_each = local.functions
  name     = google_cloud_run_v2_service.function[each.key].name
  location = var.region
  role     = "roles/run.invoker"
  member   = "allUsers"
}
