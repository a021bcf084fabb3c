// A real OpenID Connect provider (npm oidc-provider) on loopback, with people that a test can change.
import Provider, { type KoaContextWithOIDC } from "oidc-provider";
import { createServer, type Server as HttpServer } from "node:http";
import { freePort } from "./server.ts";

export interface Person {
  name: string;
  email: string;
  /** Left out: the provider does not say. */
  email_verified?: boolean;
  groups: string[];
}

export interface SignInProvider {
  readonly issuer: string;
  readonly port: number;
  readonly secret: string;
  /** By login; what a test changes counts at the next sign-in. */
  readonly people: Map<string, Person>;
  stop(): Promise<void>;
}

/** Starts a provider that knows one client, called "domainscope", which has to use PKCE. */
export async function provider(redirects: string | string[], people: Map<string, Person>): Promise<SignInProvider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const secret = "a secret with spaces & signs";
  const oidc = new Provider(issuer, {
    clients: [{ client_id: "domainscope", client_secret: secret, redirect_uris: [redirects].flat() }],
    pkce: { required: () => true },
    scopes: ["openid", "email", "profile", "groups"],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
    cookies: { keys: ["of a test"] },
    findAccount: (_: KoaContextWithOIDC, login: string) => {
      const person = people.get(login);
      return person && { accountId: login, claims: () => ({ sub: login, ...person }) };
    },
  });
  const http: HttpServer = createServer(oidc.callback());
  await new Promise<void>((ready) => http.listen(port, "127.0.0.1", ready));
  const stop = () =>
    new Promise<void>((done) => {
      http.close(() => done());
      http.closeAllConnections();
    });
  return { issuer, port, secret, people, stop };
}
