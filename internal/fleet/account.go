package fleet

import "slices"

// Account is the section [account.NAME]: a login with the provider of a model, whose
// limits those share who use it.
type Account struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // of the agent CLI that is logged in
	// ConfigDir is the folder of the CLI's own that it is logged in from; empty: the one it
	// uses by itself. What is in it is the CLI's and the person's: Custos names it, and reads
	// conversations in it.
	ConfigDir string `json:"config_dir,omitempty"`
	Plan      string `json:"plan,omitempty"` // what the person calls the plan
}

// Accounts are the sections [account.NAME], in the order of their names.
type Accounts []Account

// Get returns the account of a name; ok is false where no section says anything of it.
func (l Accounts) Get(name string) (a Account, ok bool) {
	i := slices.IndexFunc(l, func(a Account) bool { return a.Name == name })
	if i < 0 {
		return Account{}, false
	}
	return l[i], true
}

// Names lists them.
func (l Accounts) Names() (names []string) {
	for _, a := range l {
		names = append(names, a.Name)
	}
	return names
}
