# What rebuilds releases offline. infra/jobs.yaml says what each job runs and when, and a test holds it to the command line.
locals {
  offline = yamldecode(file("${path.module}/../jobs.yaml"))

  jobs = merge(
    { for name, job in local.offline.jobs : name => merge(job, { kind = "" }) },
    { for pair in setproduct(keys(local.offline.sites), keys(var.sites)) : join("-", pair) => merge(
      local.offline.sites[pair[0]],
      {
        kind    = pair[1]
        command = [for word in local.offline.sites[pair[0]].command : replace(word, "<kind>", pair[1])]
      },
    ) },
  )
  scheduled = { for name, job in local.jobs : name => job.schedule if can(job.schedule) }

  job_environment = { for name, job in local.jobs : name => merge(
    {
      BUCKET_URL                 = "gs://${google_storage_bucket.releases.name}"
      EMBEDDING_CALLS_PER_MINUTE = tostring(var.embedding_calls_per_minute)
    },
    contains(job.needs, "store") && contains(local.in_cosmos, job.kind) ? merge(local.cosmos, { STORE = "cosmos" }) : {},
  ) }
  job_secrets = { for name, job in local.jobs : name => merge(
    contains(job.needs, "models") ? { OPENROUTER_API_KEY = google_secret_manager_secret.openrouter.secret_id } : {},
    contains(job.needs, "store") && contains(local.in_cosmos, job.kind) ? {
      COSMOS_KEY = google_secret_manager_secret.cosmos["write"].secret_id
    } : {},
  ) }
}

resource "google_cloud_run_v2_job" "job" {
  for_each            = local.jobs
  name                = "askbucket-${each.key}"
  location            = var.region
  deletion_protection = false

  template {
    task_count  = each.value.tasks
    parallelism = each.value.tasks

    template {
      service_account       = google_service_account.builder.email
      max_retries           = each.value.retries
      timeout               = "${each.value.timeout_s}s"
      execution_environment = "EXECUTION_ENVIRONMENT_GEN2"

      containers {
        # infra/deploy rolls our image out; this one greets and ends until then.
        image = var.first_job_image
        args  = each.value.command

        resources {
          limits = {
            cpu    = tostring(each.value.cpu)
            memory = "${each.value.memory_mib}Mi"
          }
        }

        dynamic "env" {
          for_each = local.job_environment[each.key]
          content {
            name  = env.key
            value = env.value
          }
        }

        dynamic "env" {
          for_each = local.job_secrets[each.key]
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

        dynamic "volume_mounts" {
          for_each = contains(each.value.needs, "sources") ? ["sources"] : []
          content {
            name       = volume_mounts.value
            mount_path = "/sources"
          }
        }
      }

      dynamic "volumes" {
        for_each = contains(each.value.needs, "sources") ? ["sources"] : []
        content {
          name = volumes.value
          gcs {
            bucket    = google_storage_bucket.sources.name
            read_only = true
          }
        }
      }
    }
  }

  # infra/deploy changes the image, and gcloud puts a label beside it.
  lifecycle {
    ignore_changes = [client, client_version, template[0].labels, template[0].template[0].containers[0].image]
  }

  depends_on = [
    google_secret_manager_secret_version.openrouter,
    google_secret_manager_secret_version.cosmos,
    google_secret_manager_secret_iam_member.openrouter,
    google_secret_manager_secret_iam_member.cosmos,
    google_storage_bucket_iam_member.builds,
    google_storage_bucket_iam_member.collects,
  ]
}

resource "google_cloud_scheduler_job" "job" {
  for_each         = local.scheduled
  name             = "askbucket-${each.key}"
  region           = var.region
  schedule         = each.value
  time_zone        = "Etc/UTC"
  paused           = contains(var.jobs_paused, each.key)
  attempt_deadline = "60s"

  retry_config {
    retry_count = 3
  }

  http_target {
    http_method = "POST"
    uri         = "https://run.googleapis.com/v2/${google_cloud_run_v2_job.job[each.key].id}:run"

    oauth_token {
      service_account_email = google_service_account.scheduler.email
    }
  }

  depends_on = [google_cloud_run_v2_job_iam_member.starts]
}

# The scheduler starts jobs as they are, and can do nothing else.
resource "google_cloud_run_v2_job_iam_member" "starts" {
  for_each = local.scheduled
  name     = google_cloud_run_v2_job.job[each.key].name
  location = var.region
  role     = "roles/run.invoker"
  member   = "serviceAccount:${google_service_account.scheduler.email}"
}
