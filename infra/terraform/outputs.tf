output "address" {
  description = "What the A record of the domain must name."
  value       = google_compute_global_address.public.address
}

output "releases" {
  description = "BUCKET_URL of the builds."
  value       = "gs://${google_storage_bucket.releases.name}"
}

output "images" {
  description = "Where infra/deploy pushes the images."
  value       = "${var.region}-docker.pkg.dev/${var.project_id}/${google_artifact_registry_repository.images.repository_id}"
}
