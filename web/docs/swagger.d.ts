// What main.ts uses of Swagger UI.
declare module "swagger-ui-dist/swagger-ui-bundle.js" {
  export default function SwaggerUIBundle(options: Record<string, unknown>): unknown;
}
