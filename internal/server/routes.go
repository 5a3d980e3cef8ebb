package server

import (
	"net/http"
)

// route is one row of the table: everything Custos answers.
type route struct {
	method  string
	pattern string
	access  access
	maxBody int64 // bytes
	handle  func(*server, *http.Request, Caller) (any, error)
	stream  func(*server, http.ResponseWriter, *http.Request) // instead of handle
}

const (
	small = 1 << 20  // orders, screens
	large = 64 << 20 // recordings
	// The text of a nudge may have a mebibyte, and JSON may double it.
	orderSize = 4 << 20
)

// routes is the table, and the route of hooks where they are taken.
func (s *server) routes() []route {
	if s.Hooks == nil {
		return routes()
	}
	return append(routes(), hookRoute(s.Hooks))
}

func routes() []route {
	return append(controlRoutes(), []route{
		{"POST", "/v1/patrol", anyone, small, (*server).patrol, nil}, // with apply: a person
		{"POST", "/v1/plan", anyone, large, (*server).judge, nil},
		{"GET", "/v1/recording", anyone, small, (*server).record, nil},
		{"GET", "/v1/rules", anyone, small, (*server).rules, nil},
		{"GET", "/v1/kinds", anyone, small, (*server).kinds, nil},
		{"POST", "/v1/explain", anyone, small, (*server).explain, nil},
		{"GET", "/v1/schema", anyone, small, (*server).schemas, nil},
		{"GET", "/v1/schema/{name}", anyone, small, (*server).schema, nil},
		{"GET", "/v1/events", anyone, small, nil, (*server).events},
		{"GET", "/v1/changes", anyone, small, nil, (*server).changes},
		{"POST", "/v1/hookfiles/{kind}", anyone, orderSize, (*server).editHooks, nil}, // writes nothing
		{"POST", "/v1/down", person, small, (*server).down, nil},
		{"POST", "/v1/become", person, small, (*server).become, nil},
		{"GET", "/metrics", anyone, small, nil, (*server).metrics},
	}...)
}
