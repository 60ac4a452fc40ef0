# The promise: 99.9 % of valid requests answered correctly in time, over 28 days; told when it burns away.
locals {
  promise = 0.999
  # How many times too fast the budget of errors burns, and over which windows.
  burns = {
    fast = { times = 14, windows = ["3600s", "300s"] }
    slow = { times = 3, windows = ["259200s", "21600s"] }
  }
  watched = { for pair in setproduct(keys(local.functions), keys(local.burns)) : "${pair[0]}-${pair[1]}" => {
    function = pair[0]
    burn     = local.burns[pair[1]]
    speed    = pair[1]
  } }
}

resource "google_monitoring_notification_channel" "mail" {
  display_name = "Askbucket"
  type         = "email"
  labels       = { email_address = var.alert_email }
  depends_on   = [google_project_service.api]
}

resource "google_monitoring_service" "function" {
  for_each     = local.functions
  service_id   = "askbucket-${each.key}"
  display_name = "Askbucket: ${each.key}"

  basic_service {
    service_type = "CLOUD_RUN"
    service_labels = {
      service_name = google_cloud_run_v2_service.function[each.key].name
      location     = var.region
    }
  }
}

resource "google_monitoring_slo" "answered" {
  for_each            = local.functions
  service             = google_monitoring_service.function[each.key].service_id
  slo_id              = "answered"
  display_name        = "Answered without an error of ours"
  goal                = local.promise
  rolling_period_days = 28

  request_based_sli {
    good_total_ratio {
      bad_service_filter   = join(" AND ", concat(local.requests_to[each.key], ["metric.labels.response_code_class = \"5xx\""]))
      total_service_filter = join(" AND ", local.requests_to[each.key])
    }
  }
}

locals {
  requests_to = { for name in keys(local.functions) : name => [
    "metric.type = \"run.googleapis.com/request_count\"",
    "resource.type = \"cloud_run_revision\"",
    "resource.labels.service_name = \"askbucket-${name}\"",
  ] }
}

resource "google_monitoring_alert_policy" "burning" {
  for_each              = local.watched
  display_name          = "Askbucket: ${each.value.function} fails ${each.value.speed == "fast" ? "now" : "more often than it may"}"
  combiner              = "AND"
  notification_channels = [google_monitoring_notification_channel.mail.id]
  severity              = each.value.speed == "fast" ? "CRITICAL" : "WARNING"

  dynamic "conditions" {
    for_each = each.value.burn.windows
    content {
      display_name = "${each.value.burn.times} times too fast over ${conditions.value}"
      condition_threshold {
        filter          = "select_slo_burn_rate(\"${google_monitoring_slo.answered[each.value.function].id}\", \"${conditions.value}\")"
        comparison      = "COMPARISON_GT"
        threshold_value = each.value.burn.times
        duration        = "0s"
      }
    }
  }

  documentation {
    content   = "docs/operations.md, \"Requests fail\": look at /health of the function, its newest log lines with status 5xx, and the last rollout."
    mime_type = "text/markdown"
  }
}

resource "google_monitoring_alert_policy" "job_failed" {
  display_name          = "Askbucket: a build failed"
  combiner              = "OR"
  notification_channels = [google_monitoring_notification_channel.mail.id]
  severity              = "WARNING"

  conditions {
    display_name = "An execution of a job ended without success"
    condition_threshold {
      filter = join(" AND ", [
        "metric.type = \"run.googleapis.com/job/completed_execution_count\"",
        "resource.type = \"cloud_run_job\"",
        "metric.labels.result = \"failed\"",
      ])
      comparison      = "COMPARISON_GT"
      threshold_value = 0
      duration        = "0s"
      aggregations {
        alignment_period   = "300s"
        per_series_aligner = "ALIGN_DELTA"
      }
    }
  }

  documentation {
    content   = "docs/operations.md, \"A build failed\": what serves is the release before it."
    mime_type = "text/markdown"
  }
}

resource "google_billing_budget" "month" {
  billing_account = var.billing_account
  display_name    = "Askbucket"

  budget_filter {
    projects = ["projects/${data.google_project.here.number}"]
  }

  amount {
    specified_amount {
      # Without a currency it is the billing account's own, and no other is taken.
      units = tostring(var.budget_per_month)
    }
  }

  dynamic "threshold_rules" {
    for_each = [0.5, 0.9, 1.0]
    content {
      threshold_percent = threshold_rules.value
    }
  }

  all_updates_rule {
    monitoring_notification_channels = [google_monitoring_notification_channel.mail.id]
  }
}

data "google_project" "here" {
  depends_on = [google_project_service.api]
}
