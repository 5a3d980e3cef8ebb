package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"custos/internal/sys/httpjson"
)

// Limits of a list.
const (
	perPage   = 100 // GitLab's most
	mostPages = 40
	readings  = 3 // of a list that changes while it is read
)

// numbered is what a list is of: each has a number, once.
type numbered interface{ number() int }

// list reads page after page of a list. A part must not read as the whole, for what is missing
// is taken for closed: one that changed between two pages, so that something may have slipped
// through, is read again, and nothing of it from what is stored: the headers of one page may be
// older than those of another.
func list[T numbered](ctx context.Context, l *lab, path string, q url.Values) ([]T, error) {
	for n := range readings {
		all, whole, err := read[T](ctx, l, path, q, n > 0)
		if err != nil || whole {
			return all, err
		}
	}
	return nil, errors.New("its list changes while it is read")
}

// read reads a list once, and says whether it stood still meanwhile: as many things on all
// pages, and none twice. Pages by keyset tell no number, and slip not.
func read[T numbered](ctx context.Context, l *lab, path string, q url.Values, anew bool) (all []T, whole bool, err error) {
	q.Set("per_page", strconv.Itoa(perPage))
	total, seen := "", map[int]bool{}
	whole = true
	for n := 1; n <= mostPages; n++ {
		var page []T
		h, err := l.page(ctx, path+"?"+q.Encode(), anew, &page)
		if err != nil {
			return nil, false, err
		}
		if page == nil {
			return nil, false, errOdd
		}
		for _, x := range page {
			whole = whole && !seen[x.number()]
			seen[x.number()] = true
		}
		all = append(all, page...)
		if told := h.Get("X-Total"); told != "" {
			whole = whole && (total == "" || told == total)
			total = told
		}
		if q = next(q, h, n, len(page) == perPage); q == nil {
			return all, whole, nil
		}
	}
	return nil, false, fmt.Errorf("its list does not end within %d pages", mostPages)
}

// page is one page of a list, as it is stored where that is what it still is, or anew.
func (l *lab) page(ctx context.Context, path string, anew bool, out any) (http.Header, error) {
	req, err := httpjson.Request(ctx, http.MethodGet, l.project+path, nil)
	if err != nil {
		return nil, err
	}
	if anew {
		req.Header.Set("Cache-Control", "no-cache")
	}
	return l.send(req, out)
}

var reNext = regexp.MustCompile(`<([^>]*)>\s*;\s*rel="?next"?`)

// next is the query of the page behind the nth; nil: there is none. Of the address in Link
// only the query counts: no answer leads to another server. Where a proxy strips both that
// and GitLab's own headers, a full page may not be the last.
func next(q url.Values, h http.Header, n int, full bool) url.Values {
	if m := reNext.FindStringSubmatch(h.Get("Link")); m != nil {
		if u, err := url.Parse(m[1]); err == nil {
			return u.Query()
		}
	}
	out := url.Values{}
	for name, values := range q {
		out[name] = values
	}
	switch told, isTold := h.Get("X-Next-Page"), len(h.Values("X-Next-Page"))+len(h.Values("Link")) > 0; {
	case told != "":
		out.Set("page", told)
	case isTold || !full:
		return nil
	default:
		out.Del("pagination")
		out.Set("page", strconv.Itoa(n+1))
	}
	return out
}
