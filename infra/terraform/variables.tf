variable "project_id" {
  description = "The Google Cloud project: an empty one with billing is enough."
  type        = string
}

variable "region" {
  description = "Where the functions, jobs and buckets are."
  type        = string
  default     = "us-central1"
}

variable "domain" {
  description = "The name that people and programs ask; its A record must point to the `address` that is printed."
  type        = string
}

variable "first_image" {
  description = "What a service runs before infra/deploy rolls its own image out: anything that answers every path with a 200."
  type        = string
  default     = "us-docker.pkg.dev/cloudrun/container/hello"
}

variable "first_job_image" {
  description = "What a job runs before infra/deploy rolls its own image out: anything that ends by itself."
  type        = string
  default     = "us-docker.pkg.dev/cloudrun/container/job"
}

variable "sites" {
  description = "Which sites are served, how large each one's release is in MiB, and where its vectors are searched."
  type = map(object({
    release_mib = number
    store       = optional(string, "memory")
  }))
  default = {
    recipes = { release_mib = 500 }
    movies  = { release_mib = 500, store = "cosmos" }
    reviews = { release_mib = 120 }
    trails  = { release_mib = 330, store = "cosmos" }
    homes   = { release_mib = 40, store = "cosmos" }
  }

  validation {
    condition     = alltrue([for site in var.sites : contains(["memory", "cosmos"], site.store)])
    error_message = "A site's store is memory or cosmos."
  }
}

variable "tables_release_mib" {
  description = "How large the tables' releases are together, in MiB: what the search functions keep in memory."
  type        = number
  default     = 900
}

variable "catalogs" {
  description = "Table catalogs beside `built-in`. A service starts when each has a release: build one before you name it here."
  type        = list(string)
  default     = []
}

variable "max_instances" {
  description = "Most instances of a function; a site's limits hold an instance unless `shared_limits` is on."
  type        = map(number)
  default     = { search = 10, variable = 5, registry = 5, mcp = 5, pages = 3, stats = 1, ask_site = 1 }
}

variable "min_instances" {
  description = "Instances of a function that are kept, so that nobody waits for a start; paid for while nobody asks."
  type        = map(number)
  default     = {}
}

variable "spend_limit_usd_per_day" {
  description = "Most that one instance spends on models in a day; beyond it requests are refused."
  type        = number
  default     = 20
}

variable "shared_limits" {
  description = "Count requests of all instances in one Redis, reached through the network of the project."
  type        = bool
  default     = false
}

variable "cors_origins" {
  description = "Origins whose pages may ask a site, beside our own."
  type        = list(string)
  default     = []
}

variable "embedding_calls_per_minute" {
  description = "Most embedding calls in a minute, of all tasks of a build together; 0 is no limit."
  type        = number
  default     = 600
}

variable "alert_email" {
  description = "Who hears of a broken promise and of the budget."
  type        = string
}

variable "billing_account" {
  description = "The billing account that the budget watches."
  type        = string
}

variable "budget_usd_per_month" {
  description = "What a month may cost before somebody is told."
  type        = number
  default     = 200
}

variable "azure_subscription_id" {
  description = "Where Cosmos DB is; empty where no site is kept there."
  type        = string
  default     = ""
}

variable "azure_location" {
  description = "The region of the Cosmos DB account, near the functions."
  type        = string
  default     = "centralus"
}

variable "vector_dimension" {
  description = "Length of the vectors in Cosmos DB: the embedder's."
  type        = number
  default     = 1536
}
