package api

// OnBehalf is the header of a request that a process of an agent makes to the Custos of
// another machine, which cannot see that by itself. It takes power away and gives none.
const OnBehalf = "Custos-On-Behalf"

// HostSeen is how another machine was seen.
type HostSeen struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok or unknown
	Why    string `json:"why,omitempty"`
}
