package api

import (
	"context"
	"time"
)

// CodeList is the folders of formulas and plugins that agents may write to.
type CodeList struct {
	At   time.Time `json:"at"`
	Code []CodeRow `json:"code"`
	Next []Hint    `json:"next"`
}

// CodeRow is one of them: what its primary branch has, and what of that is run.
type CodeRow struct {
	Dir     string `json:"dir"`
	Project string `json:"project,omitempty"`
	Commit  string `json:"commit,omitempty"`
	Digest  string `json:"digest,omitempty"` // of all of its files: what is trusted, or may be
	Trusted int    `json:"trusted"`          // files that are run
	Changes string `json:"changes,omitempty"`
	Unknown string `json:"unknown,omitempty"` // why it is not known what has changed
	Loose   string `json:"loose,omitempty"`   // never run: it is not in that commit
	Diff    string `json:"diff,omitempty"`
}

// TrustRequest has a folder be trusted as it was shown, or not any more.
type TrustRequest struct {
	Dir    string `json:"dir"`
	Digest string `json:"digest,omitempty"`
	Revoke bool   `json:"revoke,omitempty"`
}

// Code lists the folders of formulas and plugins that agents may write to.
func (c *Client) Code(ctx context.Context) (CodeList, error) {
	return get[CodeList](ctx, c, "/v1/code")
}

// Trust has a folder be trusted as it was shown, or not any more.
func (c *Client) Trust(ctx context.Context, q TrustRequest) (CodeList, error) {
	return post[CodeList](ctx, c, once, "/v1/code", q)
}
