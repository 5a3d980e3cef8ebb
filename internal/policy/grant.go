package policy

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Grant is a person's word that a rule does not count for an agent: for a while, or for one call in that
// while. It lies in a file of its own beside the agent's policy.
type Grant struct {
	Agent    string    `json:"agent"`
	Instance string    `json:"instance"` // a later start has it no more
	Rule     string    `json:"rule"`
	Once     bool      `json:"once,omitempty"`
	Until    time.Time `json:"until"`
	By       string    `json:"by"`
}

// Grants is the folder of the grants of the agent whose compiled policy is file.
func Grants(file string) string { return strings.TrimSuffix(file, ".json") + ".grants" }

// GrantFile is where a grant of a rule lies.
func GrantFile(file, rule string) string {
	return filepath.Join(Grants(file), fmt.Sprintf("%x.json", sha256.Sum256([]byte(rule))))
}

// Encode writes a grant.
func (g Grant) Encode() ([]byte, error) { return json.Marshal(g) }

// DecodeGrant reads one.
func DecodeGrant(text []byte) (g Grant, err error) { return g, strict(text, &g) }

// Holds says whether a grant is for a rule of this very agent, now.
func (g Grant) Holds(c Compiled, rule string, now time.Time) bool {
	return g.Rule == rule && g.Agent == c.Agent && g.Instance == c.Instance && now.Before(g.Until)
}
