# Releases: functions read, jobs write. Versions keep what a mistaken prune or switch would take.
resource "google_storage_bucket" "releases" {
  name                        = "${var.project_id}-askbucket-releases"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  depends_on                  = [google_project_service.api]

  versioning {
    enabled = true
  }

  lifecycle_rule {
    condition {
      num_newer_versions         = 5
      days_since_noncurrent_time = 30
    }
    action {
      type = "Delete"
    }
  }

  logging {
    log_bucket = google_storage_bucket.logs.name
  }
}

# Counters: every function that counts writes here, and nowhere else.
resource "google_storage_bucket" "stats" {
  name                        = "${var.project_id}-askbucket-stats"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  depends_on                  = [google_project_service.api]

  versioning {
    enabled = true
  }

  lifecycle_rule {
    condition {
      age = 400
    }
    action {
      type = "Delete"
    }
  }

  lifecycle_rule {
    condition {
      num_newer_versions = 1
    }
    action {
      type = "Delete"
    }
  }

  logging {
    log_bucket = google_storage_bucket.logs.name
  }
}

# What a build reads: leaves, crawled pages, items, and judged questions.
resource "google_storage_bucket" "sources" {
  name                        = "${var.project_id}-askbucket-sources"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  depends_on                  = [google_project_service.api]

  versioning {
    enabled = true
  }

  logging {
    log_bucket = google_storage_bucket.logs.name
  }
}

resource "google_storage_bucket" "logs" {
  # checkov:skip=CKV_GCP_62:it is where access is logged
  name                        = "${var.project_id}-askbucket-logs"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  depends_on                  = [google_project_service.api]

  versioning {
    enabled = true
  }

  lifecycle_rule {
    condition {
      age = 90
    }
    action {
      type = "Delete"
    }
  }
}

# The platform writes logs of access as this group, and drops what it may not write.
resource "google_storage_bucket_iam_member" "logs" {
  count  = var.access_logs ? 1 : 0
  bucket = google_storage_bucket.logs.name
  role   = "roles/storage.objectCreator"
  member = "group:cloud-storage-analytics@google.com"
}
