package forgetest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

// labPage cuts one page out of a list. By offset it tells of the others in Link and in
// headers of its own; by keyset, of what comes behind the last of it, in Link alone.
func (s *Server) labPage(w http.ResponseWriter, r *http.Request, a reply, list []any, f *Fault) []any {
	page, size := max(atoi(r.URL.Query().Get("page")), 1), atoi(r.URL.Query().Get("per_page"))
	if size <= 0 {
		size = 20
	}
	size = min(size, 100, s.PageSize)
	if f != nil && f.Endless && len(list) > 0 {
		next := s.labURL(r, "page", number(page+1))
		if a.list == keyset {
			next = s.labURL(r, "cursor", cursorOf(list[0]))
		}
		s.labLink(w, fmt.Sprintf(`<%s>; rel="next"`, next))
		return list[:1]
	}
	if a.list == keyset {
		return s.labBehind(w, r, list, size)
	}
	last := max((len(list)+size-1)/size, 1)
	from, to := min((page-1)*size, len(list)), min(page*size, len(list))
	var links []string
	link := func(n int, rel string) {
		links = append(links, fmt.Sprintf(`<%s>; rel="%s"`, s.labURL(r, "page", number(n)), rel))
	}
	next, prev := "", ""
	if page > 1 {
		prev = number(page - 1)
		link(page-1, "prev")
	}
	if page < last {
		next = number(page + 1)
		link(page+1, "next")
	}
	link(1, "first")
	if !s.NoCount {
		link(last, "last")
	}
	s.labLink(w, links...)
	if !s.NoNext {
		w.Header().Set("X-Next-Page", next)
		w.Header().Set("X-Prev-Page", prev)
		w.Header().Set("X-Page", number(page))
		w.Header().Set("X-Per-Page", number(size))
	}
	if !s.NoCount {
		w.Header().Set("X-Total", number(len(list)))
		w.Header().Set("X-Total-Pages", number(last))
	}
	return append([]any{}, list[from:to]...)
}

// labBehind is the page behind the cursor, which holds the number of the last one before it.
func (s *Server) labBehind(w http.ResponseWriter, r *http.Request, list []any, size int) []any {
	after, _ := base64.URLEncoding.DecodeString(r.URL.Query().Get("cursor"))
	out := []any{}
	for _, x := range list { // the newest first: what is behind the cursor is smaller
		if len(out) < size && (len(after) == 0 || keyOf(x) < string(after)) {
			out = append(out, x)
		}
	}
	if len(out) == size {
		s.labLink(w, fmt.Sprintf(`<%s>; rel="next"`, s.labURL(r, "cursor", cursorOf(out[size-1]))))
	}
	return out
}

// keyOf is what issues are sorted by.
func keyOf(x any) string {
	i := x.(map[string]any)
	return fmt.Sprintf("%v %09d", i["created_at"], i["iid"])
}

func cursorOf(x any) string { return base64.URLEncoding.EncodeToString([]byte(keyOf(x))) }

func (s *Server) labLink(w http.ResponseWriter, links ...string) {
	if !s.NoLink {
		w.Header().Set("Link", strings.Join(links, ", "))
	}
}

// labURL is this request once more, with one thing else: at what the server takes for its
// own address.
func (s *Server) labURL(r *http.Request, name, value string) string {
	q := r.URL.Query()
	q.Set(name, value)
	root := s.URL
	if s.Root != "" {
		root = s.Root
	}
	return root + r.URL.EscapedPath() + "?" + q.Encode()
}
