package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"custos/internal/api"
)

// digest is what a form carries of what was shown with it.
func digest(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // nothing that is shown is of such a type
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// asShown refuses a form beside which something else would be shown by now.
func asShown(form url.Values, now string) error {
	switch seen := form.Get("seen"); {
	case seen == "" || now == "":
		return badForm()
	case seen != now:
		return &api.Error{Kind: api.Changed, Message: "cannot do this: what was shown is not as it is now, and nothing was done: look at it again"}
	}
	return nil
}

func badForm() error {
	return api.AsBadInput(fmt.Errorf("cannot take the form: it is not as this page has sent it"))
}

// formID is the ID of a form: the same one sent twice is one thing. It is that of one session:
// several persons are shown the same page, and what each of them sends is another thing.
func formID(r *http.Request) (string, error) {
	id := r.PostForm.Get("id")
	if id == "" || len(id) > 64 || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return "", badForm()
	}
	return id + strings.ToUpper(sessionOf(r).ID), nil
}

// typed is a text of a form, its lines ended as everywhere else.
func typed(form url.Values, field string) string {
	return strings.ReplaceAll(form.Get(field), "\r\n", "\n")
}
