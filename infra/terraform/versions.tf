terraform {
  required_version = ">= 1.11"

  # `terraform init` is given the bucket, which is there before anything else.
  backend "gcs" {
    prefix = "askbucket"
  }

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 7.0"
    }
  }
}

provider "google" {
  project               = var.project_id
  region                = var.region
  billing_project       = var.project_id
  user_project_override = true
}
