# Ephemeral: the key goes to the secret, and into no state and no plan.
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

resource "google_secret_manager_secret" "cosmos" {
  count      = length(local.in_cosmos) > 0 ? 1 : 0
  secret_id  = "askbucket-cosmos-key"
  depends_on = [google_project_service.api]

  replication {
    auto {}
  }
}

resource "google_secret_manager_secret_version" "cosmos" {
  count                  = length(local.in_cosmos) > 0 ? 1 : 0
  secret                 = google_secret_manager_secret.cosmos[0].id
  secret_data_wo         = azurerm_cosmosdb_account.items[0].primary_key
  secret_data_wo_version = 1
}

resource "google_secret_manager_secret_iam_member" "cosmos" {
  for_each = merge(
    { for kind in local.in_cosmos : kind => google_service_account.function["ask-${kind}"].email },
    length(local.in_cosmos) > 0 ? { builder = google_service_account.builder.email } : {},
  )
  secret_id = google_secret_manager_secret.cosmos[0].id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${each.value}"
}
