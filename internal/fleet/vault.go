package fleet

// VaultState is where an item of a vault stands.
type VaultState string

// The states of items. The first four follow each other; the word of the first, second
// and last is that of the folder it lies in.
const (
	VaultPending    VaultState = "pending"    // waits for a person
	VaultApproved   VaultState = "approved"   // waits to be dispatched
	VaultDispatched VaultState = "dispatched" // what it asks for was done
	VaultRejected   VaultState = "rejected"
	VaultMissing    VaultState = "missing" // a list of secrets that a person has to give
)

// VaultItem is one file of a vault: a folder in which agents ask for what they may not do
// by themselves, and people answer.
type VaultItem struct {
	Name    string         `json:"name" help:"VAULT/FOLDER/FILE; of a list of secrets VAULT/FILE"`
	Vault   string         `json:"vault" help:"of its section [vault.NAME]"`
	ID      string         `json:"id" help:"its file's name, without the ending"`
	Path    string         `json:"path" help:"where it is"`
	Owner   Owner          `json:"owner" help:"of its vault: configured, or foreign where it is watch_only"`
	File    FileID         `json:"file" help:"its identity"`
	Digest  string         `json:"digest,omitempty" help:"SHA-256 of its bytes, while it is pending: what a person approves of"`
	State   VaultState     `json:"state" help:"pending, approved, dispatched or rejected; of a list of secrets missing"`
	Title   string         `json:"title,omitempty" help:"what it says that it is: untrusted text, secrets redacted; empty when it does not say"`
	Secrets []string       `json:"secrets,omitempty" help:"names of the secrets that it asks for, or lists; never a value"`
	Age     Leaf[Duration] `json:"age" help:"time since it was put there, or changed there"`
	Movable Leaf[bool]     `json:"movable" help:"whether a person's word to Custos can answer it: it is pending, and the vault has a folder approved"`
}
