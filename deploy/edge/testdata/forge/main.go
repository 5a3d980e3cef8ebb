// Command forge is the forge of scripts/edge-check: the fake of the tests, with one project
// and one account, and the git repository in which its ops repository is kept. It listens at
// the address in its first argument, keeps repositories in the folder of the second, and
// writes each request, with whose token it came, to its standard output.
package main

import (
	"fmt"
	"log"
	"net/http"
	"net/http/cgi"
	"os"
	"strings"
	"time"

	"custos/internal/sys/forgetest"
)

const (
	account = "supervisor-bot"
	project = "disinto-admin/disinto"
)

func main() {
	forge := forgetest.At("http://forgejo:3000", "forgejo")
	token := forge.Account(account)
	forge.Repo(project).Open(7, time.Hour, forgetest.Issue{Title: "The tests are red", Author: "dev-bot", Labels: []string{"backlog"}})
	if len(os.Args) < 3 {
		fmt.Println(token)
		return
	}
	who := map[string]string{"token " + token: account, "": "nobody"}
	git := &cgi.Handler{Path: "/usr/lib/git-core/git-http-backend", Env: []string{"GIT_PROJECT_ROOT=" + os.Args[2], "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + account}}
	log.Fatal(http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Printf("%s: %s %s\n", who[r.Header.Get("Authorization")], r.Method, r.URL.Path)
		if !strings.Contains(r.URL.Path, ".git/") {
			forge.ServeHTTP(w, r)
			return
		}
		if _, password, _ := r.BasicAuth(); password != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
			http.Error(w, "log in", http.StatusUnauthorized)
			return
		}
		git.ServeHTTP(w, r)
	})))
}
