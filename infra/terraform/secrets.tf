# Ephemeral: the keys go to the secrets, and into no state and no plan.
variable "openrouter_api_key" {
  description = "The key of the model gateway."
  type        = string
  sensitive   = true
  ephemeral   = true
}

variable "openrouter_api_key_version" {
  description = "Raise it to store another key."
  type        = number
  default     = 1
}

variable "cosmos_keys" {
  description = "The keys of the Cosmos DB account: the output `keys` of infra/terraform/cosmos."
  type        = object({ read = string, write = string })
  default     = null
  sensitive   = true
  ephemeral   = true

  validation {
    condition     = var.cosmos_keys != null || length(local.in_cosmos) == 0
    error_message = "A site is kept in Cosmos DB: give the keys that infra/terraform/cosmos puts out."
  }
}

variable "cosmos_key_version" {
  description = "Raise it to store other keys."
  type        = number
  default     = 1
}

resource "google_secret_manager_secret" "openrouter" {
  secret_id  = "askbucket-openrouter-api-key"
  depends_on = [google_project_service.api]

  replication {
    auto {}
  }
}

resource "google_secret_manager_secret_version" "openrouter" {
  secret                 = google_secret_manager_secret.openrouter.id
  secret_data_wo         = var.openrouter_api_key
  secret_data_wo_version = var.openrouter_api_key_version
}

resource "google_secret_manager_secret_iam_member" "openrouter" {
  for_each = merge(
    {
      for name, function in local.functions : name => google_service_account.function[name].email
      if contains(function.needs, "models")
    },
    { builder = google_service_account.builder.email },
  )
  secret_id = google_secret_manager_secret.openrouter.id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${each.value}"
}

# A site asks with the key that only reads; that which writes is the jobs' alone.
locals {
  cosmos_keys = length(local.in_cosmos) > 0 ? toset(["read", "write"]) : toset([])
}

resource "google_secret_manager_secret" "cosmos" {
  for_each   = local.cosmos_keys
  secret_id  = "askbucket-cosmos-key-${each.key}"
  depends_on = [google_project_service.api]

  replication {
    auto {}
  }
}

resource "google_secret_manager_secret_version" "cosmos" {
  for_each               = local.cosmos_keys
  secret                 = google_secret_manager_secret.cosmos[each.key].id
  secret_data_wo         = var.cosmos_keys[each.key]
  secret_data_wo_version = var.cosmos_key_version
}

resource "google_secret_manager_secret_iam_member" "cosmos" {
  for_each = merge(
    { for kind in local.in_cosmos : kind => { key = "read", email = google_service_account.function["ask-${kind}"].email } },
    length(local.in_cosmos) > 0 ? { builder = { key = "write", email = google_service_account.builder.email } } : {},
  )
  secret_id = google_secret_manager_secret.cosmos[each.value.key].id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${each.value.email}"
}
