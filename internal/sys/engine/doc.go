// Package engine is a client of a container engine, over the API that Docker
// serves on a unix socket (and Podman too): a Reader that lists, inspects and
// listens, and a Writer that restarts one container or prunes images that nothing
// names. It takes from every answer no more than it has use for, and reads none
// without a bound.
package engine
