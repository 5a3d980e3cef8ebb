package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// CodeFile is one file of a folder of formulas and plugins, as it would be run.
type CodeFile struct {
	Path   string `json:"path"`           // below the folder
	Exec   bool   `json:"exec,omitempty"` // may be executed
	Digest string `json:"digest"`         // SHA-256 of its bytes, in hex
}

// Pins are the files of one folder that a person said may be run, as they were in
// one commit.
type Pins struct {
	Dir    string     `json:"dir"`
	Commit string     `json:"commit"`
	Files  []CodeFile `json:"files"`
	By     string     `json:"by"`
	At     Instant    `json:"at"`
}

// CodeFacts is a folder of formulas and plugins that is kept in a repository, where
// agents may write: what its primary branch has, and what of that may be run.
type CodeFacts struct {
	Dir     string       `json:"dir" help:"where it is"`
	Project string       `json:"project,omitempty" help:"the project it belongs to; empty for a folder of [formulas] or [plugins]"`
	Commit  string       `json:"commit,omitempty" help:"the commit it was read from"`
	Digest  string       `json:"digest,omitempty" help:"of all of its files, as that commit has them: what a person approves of"`
	Trusted int          `json:"trusted" help:"how many files are as a person approved of them"`
	Changes Leaf[string] `json:"changes" help:"what no person has approved: '+ path' is new, '~ path' has changed, '- path' is gone; empty when all of it is trusted"`
	Loose   string       `json:"loose,omitempty" help:"what lies in the folder otherwise than in that commit; it is never run; empty when nothing does"`
	Diff    string       `json:"diff,omitempty" help:"the changes, cut"`
}

// CodeDigest is of a list of files, in their order.
func CodeDigest(files []CodeFile) string {
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%q %t %s\n", f.Path, f.Exec, f.Digest)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
