# What the root above is given as cosmos_endpoint and cosmos_keys.
output "endpoint" {
  description = "The account's address."
  value       = azurerm_cosmosdb_account.items.endpoint
}

output "keys" {
  description = "The key that only reads, for the sites, and the one that writes, for the jobs."
  sensitive   = true
  value = var.keys == "primary" ? {
    read  = azurerm_cosmosdb_account.items.primary_readonly_key
    write = azurerm_cosmosdb_account.items.primary_key
    } : {
    read  = azurerm_cosmosdb_account.items.secondary_readonly_key
    write = azurerm_cosmosdb_account.items.secondary_key
  }
}
