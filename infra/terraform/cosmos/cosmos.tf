locals {
  vector_paths = ["/name_v", "/description_v", "/body_v"]
}

# Items and vectors of the sites whose store is Cosmos DB: database `samples`, container `items`, a partition a site.
# The names are the defaults of COSMOS_DATABASE and COSMOS_CONTAINER.
resource "azurerm_resource_group" "items" {
  name     = "askbucket"
  location = var.location
}

resource "azurerm_cosmosdb_account" "items" {
  # checkov:skip=CKV_AZURE_140:functions on Google Cloud have no Azure identity, so they ask with a key that only reads
  # checkov:skip=CKV_AZURE_101:they come over the internet, by TLS and with a key
  # checkov:skip=CKV_AZURE_99:Cloud Run has no fixed addresses that could be let in alone
  # checkov:skip=CKV_AZURE_100:the platform's own keys encrypt it, and what lies there is published data
  name                       = var.account
  location                   = azurerm_resource_group.items.location
  resource_group_name        = azurerm_resource_group.items.name
  offer_type                 = "Standard"
  kind                       = "GlobalDocumentDB"
  minimal_tls_version        = "Tls12"
  automatic_failover_enabled = false

  # A key reads or writes items; what is above them, Terraform makes.
  access_key_metadata_writes_enabled = false

  capabilities {
    name = "EnableServerless"
  }

  capabilities {
    name = "EnableNoSQLVectorSearch"
  }

  consistency_policy {
    consistency_level = "Session"
  }

  geo_location {
    location          = azurerm_resource_group.items.location
    failover_priority = 0
  }

  backup {
    type = "Continuous"
    tier = "Continuous7Days"
  }
}

resource "azurerm_cosmosdb_sql_database" "samples" {
  name                = "samples"
  resource_group_name = azurerm_resource_group.items.name
  account_name        = azurerm_cosmosdb_account.items.name
}

# Through the API itself: a container's vector policy is set when it is made, and never changes. `askbucket load-cosmos`
# makes the same container where there is none.
resource "azapi_resource" "items" {
  type      = "Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2024-11-15"
  name      = "items"
  parent_id = azurerm_cosmosdb_sql_database.samples.id

  body = {
    properties = {
      resource = {
        id = "items"
        partitionKey = {
          paths = ["/site"]
          kind  = "Hash"
        }
        indexingPolicy = {
          indexingMode  = "consistent"
          automatic     = true
          includedPaths = [{ path = "/*" }]
          excludedPaths = [for path in concat(local.vector_paths, ["/record"]) : { path = "${path}/*" }]
          vectorIndexes = [for path in local.vector_paths : { path = path, type = "quantizedFlat" }]
        }
        vectorEmbeddingPolicy = {
          vectorEmbeddings = [for path in local.vector_paths : {
            path             = path
            dataType         = "float32"
            distanceFunction = "dotproduct"
            dimensions       = var.vector_dimension
          }]
        }
      }
    }
  }
}
