locals {
  apis = [
    "artifactregistry", "billingbudgets", "cloudresourcemanager", "cloudscheduler", "compute", "iam", "logging",
    "monitoring", "redis", "run", "secretmanager", "storage",
  ]
}

resource "google_project_service" "api" {
  for_each           = toset(local.apis)
  service            = "${each.key}.googleapis.com"
  disable_on_destroy = false
}

resource "google_artifact_registry_repository" "images" {
  # checkov:skip=CKV_GCP_84:the platform's own keys encrypt it, and what lies there is public code
  repository_id = "askbucket"
  location      = var.region
  format        = "DOCKER"
  description   = "One image a function, and that of the jobs."
  depends_on    = [google_project_service.api]

  docker_config {
    immutable_tags = true
  }

  # A policy that keeps only saves from one that removes.
  cleanup_policies {
    id     = "remove-after-a-month"
    action = "DELETE"
    condition {
      tag_state  = "ANY"
      older_than = "2592000s"
    }
  }

  cleanup_policies {
    id     = "keep-the-last-ten"
    action = "KEEP"
    most_recent_versions {
      keep_count = 10
    }
  }
}
