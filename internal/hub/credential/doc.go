// Package credential is who is who at a hub: the keys of the hub, the identities of hosts and what
// they may do, what they sign, and the tokens by which they join. It speaks with nobody.
package credential
