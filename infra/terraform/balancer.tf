# One address for everything. infra/functions.yaml says which path leads where, and a test holds it to the code.
locals {
  # A path answers with a slash at its end, too. What no rule names goes to the pages.
  paths = {
    for name, function in local.deployed.functions : name => flatten([
      for path in function.routes : endswith(path, "/*") || strcontains(path, ".") ? [path] : [path, "${path}/"]
    ]) if !contains(function.routes, "/*")
  }
}

resource "google_compute_global_address" "public" {
  name       = "askbucket"
  depends_on = [google_project_service.api]
}

resource "google_compute_region_network_endpoint_group" "function" {
  for_each              = local.functions
  name                  = "askbucket-${each.key}"
  region                = var.region
  network_endpoint_type = "SERVERLESS"

  cloud_run {
    service = google_cloud_run_v2_service.function[each.key].name
  }
}

resource "google_compute_backend_service" "function" {
  for_each              = local.functions
  name                  = "askbucket-${each.key}"
  protocol              = "HTTPS"
  load_balancing_scheme = "EXTERNAL_MANAGED"

  backend {
    group = google_compute_region_network_endpoint_group.function[each.key].id
  }

  log_config {
    enable      = true
    sample_rate = 1
  }
}

resource "google_compute_url_map" "paths" {
  name            = "askbucket"
  default_service = google_compute_backend_service.function["pages"].id

  host_rule {
    hosts        = [var.domain]
    path_matcher = "functions"
  }

  path_matcher {
    name            = "functions"
    default_service = google_compute_backend_service.function["pages"].id

    dynamic "path_rule" {
      for_each = local.paths
      content {
        paths   = path_rule.value
        service = google_compute_backend_service.function[path_rule.key].id
      }
    }

    # A site sees /ask where the address has /sites/<kind>/ask.
    dynamic "path_rule" {
      for_each = keys(var.sites)
      content {
        paths   = ["/sites/${path_rule.value}/*"]
        service = google_compute_backend_service.function["ask-${path_rule.value}"].id
        route_action {
          url_rewrite {
            path_prefix_rewrite = "/"
          }
        }
      }
    }
  }
}

resource "google_compute_managed_ssl_certificate" "public" {
  name       = "askbucket"
  depends_on = [google_project_service.api]

  managed {
    domains = [var.domain]
  }
}

resource "google_compute_ssl_policy" "modern" {
  name            = "askbucket"
  profile         = "MODERN"
  min_tls_version = "TLS_1_2"
  depends_on      = [google_project_service.api]
}

resource "google_compute_target_https_proxy" "public" {
  name             = "askbucket"
  url_map          = google_compute_url_map.paths.id
  ssl_certificates = [google_compute_managed_ssl_certificate.public.id]
  ssl_policy       = google_compute_ssl_policy.modern.id
}

resource "google_compute_global_forwarding_rule" "https" {
  name                  = "askbucket-https"
  target                = google_compute_target_https_proxy.public.id
  ip_address            = google_compute_global_address.public.id
  port_range            = "443"
  load_balancing_scheme = "EXTERNAL_MANAGED"
}

resource "google_compute_url_map" "to_https" {
  name       = "askbucket-to-https"
  depends_on = [google_project_service.api]

  default_url_redirect {
    https_redirect         = true
    redirect_response_code = "PERMANENT_REDIRECT"
    strip_query            = false
  }
}

resource "google_compute_target_http_proxy" "to_https" {
  name    = "askbucket-to-https"
  url_map = google_compute_url_map.to_https.id
}

resource "google_compute_global_forwarding_rule" "http" {
  name                  = "askbucket-http"
  target                = google_compute_target_http_proxy.to_https.id
  ip_address            = google_compute_global_address.public.id
  port_range            = "80"
  load_balancing_scheme = "EXTERNAL_MANAGED"
}
