variable "subscription_id" {
  description = "The Azure subscription in which Microsoft.DocumentDB is registered."
  type        = string
}

variable "account" {
  description = "The account's name, which nobody else in the world may have: askbucket- and the project's id, say."
  type        = string
}

variable "location" {
  description = "Where the account is: near the functions."
  type        = string
  default     = "centralus"
}

variable "vector_dimension" {
  description = "Length of the vectors: the embedder's."
  type        = number
  default     = 1536
}

variable "keys" {
  description = "Which pair of the account's keys is given out, primary or secondary: the other one can be made anew."
  type        = string
  default     = "primary"

  validation {
    condition     = contains(["primary", "secondary"], var.keys)
    error_message = "The pairs of keys are primary and secondary."
  }
}
