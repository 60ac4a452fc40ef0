# Only where instances share their limits: a small Redis, and the network by which functions reach it.
resource "google_compute_network" "private" {
  # checkov:skip=CKV2_GCP_18:no machine is in it, and without a rule nothing may come in
  count                   = var.shared_limits ? 1 : 0
  name                    = "askbucket"
  auto_create_subnetworks = false
  depends_on              = [google_project_service.api]
}

resource "google_compute_subnetwork" "private" {
  count                    = var.shared_limits ? 1 : 0
  name                     = "askbucket"
  region                   = var.region
  network                  = google_compute_network.private[0].id
  ip_cidr_range            = "10.8.0.0/24"
  private_ip_google_access = true

  log_config {
    aggregation_interval = "INTERVAL_10_MIN"
    flow_sampling        = 0.1
    metadata             = "INCLUDE_ALL_METADATA"
  }
}

resource "google_redis_instance" "limits" {
  count              = var.shared_limits ? 1 : 0
  name               = "askbucket-limits"
  region             = var.region
  tier               = "BASIC"
  memory_size_gb     = 1
  redis_version      = "REDIS_7_2"
  authorized_network = google_compute_network.private[0].id
}
