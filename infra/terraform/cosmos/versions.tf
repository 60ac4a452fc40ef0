# A root of its own: Terraform signs in to Azure as soon as a block names it, and only who keeps a site there can.
terraform {
  required_version = ">= 1.11"

  # `terraform init` is given the bucket. The state has the account's keys, so it must be closed.
  backend "gcs" {
    prefix = "cosmos"
  }

  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "~> 4.0"
    }
    azapi = {
      source  = "azure/azapi"
      version = "~> 2.0"
    }
  }
}

provider "azurerm" {
  features {}
  subscription_id                 = var.subscription_id
  resource_provider_registrations = "none"
}

provider "azapi" {
  subscription_id = var.subscription_id
}
