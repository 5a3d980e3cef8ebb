package server

import (
	"net/http"
	"slices"
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
	return slices.Concat(lookRoutes(), newsRoutes(), agentRoutes(), controlRoutes(), selfRoutes())
}

// lookRoutes are those of what is seen, planned and judged.
func lookRoutes() []route {
	return []route{
		{"GET", "/v1/look", anyone, small, (*server).look, nil},
		{"POST", "/v1/patrol", anyone, small, (*server).patrol, nil}, // with apply: a person
		{"GET", "/v1/preflight", anyone, small, (*server).preflight, nil},
		{"GET", "/v1/plan", anyone, small, (*server).plan, nil},
		{"POST", "/v1/plan", anyone, large, (*server).judge, nil},
		{"GET", "/v1/recording", anyone, small, (*server).record, nil},
		{"GET", "/v1/rules", anyone, small, (*server).rules, nil},
		{"POST", "/v1/explain", anyone, small, (*server).explain, nil},
		{"GET", "/v1/costs", anyone, small, (*server).costs, nil},
		{"GET", "/v1/report", anyone, small, (*server).report, nil},
		{"GET", "/v1/schema", anyone, small, (*server).schemas, nil},
		{"GET", "/v1/schema/{name}", anyone, small, (*server).schema, nil},
	}
}

// newsRoutes are those of what happened, and what is told of it.
func newsRoutes() []route {
	return []route{
		{"GET", "/v1/story", anyone, small, (*server).story, nil},
		{"GET", "/v1/journal", anyone, small, (*server).journal, nil},
		{"GET", "/v1/feed", anyone, small, (*server).feed, nil},
		{"GET", "/v1/failures", anyone, small, (*server).failures, nil},
		{"GET", "/v1/events", anyone, small, nil, (*server).events},
	}
}

// agentRoutes are those of what agents are like, and show.
func agentRoutes() []route {
	return []route{
		{"GET", "/v1/agents", anyone, small, (*server).agents, nil},
		{"GET", "/v1/agents/{name}", anyone, small, (*server).agent, nil},
		{"GET", "/v1/agents/{name}/screen", anyone, small, (*server).screen, nil},
		{"GET", "/v1/agents/{name}/log", anyone, small, (*server).log, nil},
		{"POST", "/v1/hookfiles/{kind}", anyone, orderSize, (*server).editHooks, nil}, // writes nothing
	}
}

// selfRoutes are those of Custos itself.
func selfRoutes() []route {
	return []route{
		{"GET", "/v1/doctor", anyone, small, (*server).doctor, nil},
		{"POST", "/v1/doctor/fix", person, small, (*server).mend, nil},
		{"GET", "/v1/status", anyone, small, (*server).status, nil},
		{"GET", "/v1/health", anyone, small, (*server).health, nil},
		{"POST", "/v1/down", person, small, (*server).down, nil},
		{"GET", "/metrics", anyone, small, nil, (*server).metrics},
	}
}
