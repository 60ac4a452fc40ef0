# An account a function, so that each can do what it must and no more.
resource "google_service_account" "function" {
  for_each     = local.functions
  account_id   = "askbucket-${each.key}"
  display_name = "Askbucket: ${each.key}"
  depends_on   = [google_project_service.api]
}

resource "google_service_account" "builder" {
  account_id   = "askbucket-builder"
  display_name = "Askbucket: the jobs that build releases"
  depends_on   = [google_project_service.api]
}

resource "google_service_account" "scheduler" {
  account_id   = "askbucket-scheduler"
  display_name = "Askbucket: starts the jobs"
  depends_on   = [google_project_service.api]
}

# A function reads objects whose names it knows from the manifest, and writes nothing. It may list because only who may
# is told that an object is not there: anybody else gets a 403, which says nothing of a release that is missing.
resource "google_project_iam_custom_role" "reader" {
  role_id     = "askbucketReader"
  title       = "Askbucket: reads releases"
  permissions = ["storage.objects.get", "storage.objects.list"]
  depends_on  = [google_project_service.api]
}

resource "google_storage_bucket_iam_member" "reads" {
  for_each = { for name, function in local.functions : name => function if contains(function.needs, "releases") }
  bucket   = google_storage_bucket.releases.name
  role     = google_project_iam_custom_role.reader.id
  member   = "serviceAccount:${google_service_account.function[each.key].email}"
}

resource "google_storage_bucket_iam_member" "counts" {
  for_each = { for name, function in local.functions : name => function if contains(function.needs, "stats") }
  bucket   = google_storage_bucket.stats.name
  role     = "roles/storage.objectUser"
  member   = "serviceAccount:${google_service_account.function[each.key].email}"
}

resource "google_storage_bucket_iam_member" "builds" {
  bucket = google_storage_bucket.releases.name
  role   = "roles/storage.objectUser"
  member = "serviceAccount:${google_service_account.builder.email}"
}

resource "google_storage_bucket_iam_member" "collects" {
  bucket = google_storage_bucket.sources.name
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${google_service_account.builder.email}"
}
