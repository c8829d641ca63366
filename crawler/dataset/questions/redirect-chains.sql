-- Which redirects take more than one hop, or form a loop?
SELECT url, target, final, hops, loop FROM redirects WHERE hops > 1 OR loop ORDER BY loop DESC, hops DESC, url
