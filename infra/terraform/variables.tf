variable "project_id" {
  description = "The Google Cloud project by its id, which is not its name: an empty one with billing is enough."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project_id))
    error_message = "A project's id is 6 to 30 small letters, digits and hyphens: gcloud projects list."
  }
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

  validation {
    condition     = alltrue([for kind in keys(var.sites) : contains(["recipes", "movies", "reviews", "trails", "homes"], kind)])
    error_message = "The sites are recipes, movies, reviews, trails and homes."
  }
}

variable "cosmos_endpoint" {
  description = "The address of the Cosmos DB account: the output `endpoint` of infra/terraform/cosmos."
  type        = string
  default     = ""

  validation {
    condition     = startswith(var.cosmos_endpoint, "https://") || length(local.in_cosmos) == 0
    error_message = "A site is kept in Cosmos DB: give the endpoint that infra/terraform/cosmos puts out."
  }
}

variable "tables_release_mib" {
  description = "How large the tables' releases are together, in MiB: what the search functions keep in memory. It grows with them."
  type        = number
  default     = 900
}

variable "catalogs" {
  description = "Table catalogs beside `built-in`. A service starts when each has a release: build one before you name it here."
  type        = list(string)
  default     = []
}

variable "max_instances" {
  description = "Most instances of a function by its folder, where they are not to be those of functions.tf; a site's limits hold an instance unless `shared_limits` is on."
  type        = map(number)
  default     = {}

  validation {
    condition     = length(setsubtract(keys(var.max_instances), local.folders)) == 0
    error_message = "A key is a folder below functions/: search, ask_site and so on."
  }
}

variable "min_instances" {
  description = "Instances of a function, by its folder, that are kept, so that nobody waits for a start; paid for while nobody asks."
  type        = map(number)
  default     = {}

  validation {
    condition     = length(setsubtract(keys(var.min_instances), local.folders)) == 0
    error_message = "A key is a folder below functions/: search, ask_site and so on."
  }
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

variable "jobs_paused" {
  description = "Jobs that do not start by themselves: all before the first build, `merge` while an older release is to stay."
  type        = set(string)
  default     = []

  validation {
    condition     = length(setsubtract(var.jobs_paused, keys(local.scheduled))) == 0
    error_message = "A paused job is one with a schedule: map, merge, prune, build-recipes, prune-recipes and so on."
  }
}

variable "access_logs" {
  description = "Let the platform's group write logs of access to the buckets; off where an organization refuses members from outside."
  type        = bool
  default     = true
}

variable "alert_email" {
  description = "Who hears of a broken promise and of the budget."
  type        = string
}

variable "billing_account" {
  description = "The billing account that the budget watches."
  type        = string
}

variable "budget_per_month" {
  description = "What a month may cost before somebody is told, in the currency of the billing account."
  type        = number
  default     = 200
}
